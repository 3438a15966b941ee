"""Says whether two modules compute the same bits, by running both on virtual CPU devices in a child process."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Literal

from hloverlap.passes.analysis.required_devices import required_counts
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.modules import bytecode, set_device_counts
from hloverlap.pipeline.children import child
from hloverlap.pipeline.children.ends import End
from hloverlap.pipeline.children.process_group import free_port
from hloverlap.pipeline.equivalence import check_processes, structure
from hloverlap.pipeline.equivalence.deadlock import Watch
from hloverlap.pipeline.formats import programs
from hloverlap.pipeline.formats.programs import Program

Status = Literal["equal", "different", "not-run"]
Way = Literal["cpu", "interpreter", "processes"]
Progress = Callable[[str], None]

SEEDS = (0, 1, 2)
TIME_LIMIT = 300.0


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """Says what came out of `check`."""

    status: Status
    """``equal`` (same bits on every input that was run), ``different``, or ``not-run`` (this machine cannot say)."""
    reason: str = ""
    """A clause that says what differs, or why not everything could be run; "" where everything was."""
    runs: int = 0
    """On how many inputs both modules ran and agreed."""
    finite: float = 0.0
    """The largest share, over the inputs, of floating-point results that were neither infinite nor NaN."""
    structure: str | None = None
    """Only with ``not-run``: what differs between what the two modules send over the wire, "" for nothing."""

    def __str__(self) -> str:
        """Says it in one sentence for people."""
        if self.status == "equal":
            finite = f"{self.finite:.0%} of the floating-point results finite" if self.finite < 1 else "all finite"
            rest = f"; {self.reason}" if self.reason else ""
            return f"equal: the same bits on {self.runs} random inputs ({finite}){rest}"
        if self.status == "different":
            return f"different: {self.reason}"
        wire = "the same data goes over the wire" if not self.structure else f"on the wire, {self.structure}"
        return f"not run: {self.reason}; {wire}" if self.structure is not None else f"not run: {self.reason}"


def check(
    before: Program,
    after: Program,
    *,
    topology: Topology | str | None = None,
    way: Way = "cpu",
    processes: int | None = None,
    seeds: Sequence[int] = SEEDS,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
) -> CheckResult:
    """Runs two modules on the same inputs and compares all results of all devices, bit for bit.

    before, after: modules, or what else `run` takes. seeds: one run each, of ordinary, positive and special inputs in
    turn (see inputs). time_limit: seconds for everything. progress: is told what begins.
    way: ``cpu`` compiles them for as many virtual CPU devices as they name; ``interpreter`` runs them on StableHLO's
    own interpreter, without XLA; ``processes`` compiles them for CPU devices of processes that talk over gloo.
    processes: how many, for that way; they must divide the devices. By default as many as `topology` has, its hosts
        where it does not say, but two at least.
    An abort, a kill and a hang of XLA are results, not exceptions. Raises ReadError, TypeError (no program) and
    TopologyError.
    """
    module, rewritten = (programs.module_of(program)[0] for program in (before, after))
    if processes is None:
        processes = max(2, _processes(topology))
    counts = required_counts(module.operation)  # what the module does not say, XLA would take for one
    with tempfile.TemporaryDirectory(prefix="hlo-opt-check-") as name:
        folder = pathlib.Path(name)
        for role, program in (("before", module), ("after", rewritten)):
            with program.context:
                counted = program.operation.clone().operation
            set_device_counts(counted, counts)
            (folder / role).write_bytes(bytecode(counted))
        request: dict[str, object] = {"way": way, "seeds": list(seeds), "time_limit": time_limit}
        if way == "processes":
            request |= {"processes": processes, "coordinator": f"127.0.0.1:{free_port()}"}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        if way == "processes":
            result = _run_processes(folder, counts.devices, processes, time_limit)
        else:
            result = _run_child(folder, counts.devices, time_limit, progress or (lambda stage: None))
    if result.status != "not-run":
        return result
    difference = structure.first_difference(module, rewritten)
    return dataclasses.replace(result, structure=difference)


def _processes(topology: Topology | str | None) -> int:
    if isinstance(topology, str):
        topology = Topology.parse(topology)
    return len(set(topology.process or topology.host or (0,))) if topology else 1


def _run_child(folder: pathlib.Path, devices: int, time_limit: float, progress: Progress) -> CheckResult:
    stages = [_Stage("starting the process that runs the modules", time.monotonic())]
    command, environment = _command(folder), _environment(devices)
    output = folder / "stdout"
    with contextlib.ExitStack() as stack:
        stdout = stack.enter_context(output.open("wb"))
        running = stack.enter_context(child.Child(command, environment, time_limit, stdout=stdout))
        watch = stack.enter_context(Watch(folder, devices))
        while True:
            over = running.is_over()  # asked first: what it says before its end is then there to be read
            messages = check_processes.lines(output)
            for message in messages[len(stages) - 1 :]:
                if "status" in message:
                    return CheckResult(**message)
                stages.append(_Stage(began=time.monotonic(), **message))
                progress(message["stage"])
            if over:
                return _without_answer(stages, running.end())
            if messages and (deadlock := watch.look(messages[-1])):
                return CheckResult(**deadlock)
            time.sleep(check_processes.POLL)


def _run_processes(folder: pathlib.Path, devices: int, processes: int, time_limit: float) -> CheckResult:
    if devices % processes:
        return CheckResult("not-run", f"{devices} devices cannot be spread evenly over {processes} processes")
    environment = _environment(devices // processes)
    with Watch(folder, devices, processes) as watch:
        found = check_processes.answer(_command(folder), folder, environment, processes, time_limit, watch)
    if isinstance(found, check_processes.NoAnswer):
        caused_by_rewrite = "rewritten" in found.stage and found.end.kind not in _SAYS_NOTHING
        return CheckResult("different" if caused_by_rewrite else "not-run", f"while {found.stage}, {found}")
    return CheckResult(**found)


def _command(folder: pathlib.Path) -> list[str]:
    return child.python("hloverlap.pipeline.equivalence.check_child", folder)


@dataclasses.dataclass(frozen=True)
class _Stage:
    """Says what the child began, when (seconds), and what it knew by then (see check_child.Done)."""

    stage: str
    began: float
    run: Sequence[object] | None = None
    """What runs, as `Watch.look` takes it."""
    runs: int = 0
    finite: float = 0.0
    suspect: str = ""


# Ends that may be this machine's doing, and not the module's.
_SAYS_NOTHING = ("timeout", "killed", "exhausted", "unavailable")


def _without_answer(stages: Sequence[_Stage], end: End) -> CheckResult:
    """Says what it means that the child ended without an answer."""
    last = stages[-1]
    reason = f"while {last.stage}, the process {end}"
    if last.suspect:
        return CheckResult(
            "different", f"{last.suspect} (fusion may be the cause, but {reason})", last.runs, last.finite
        )
    if "rewritten" in last.stage:
        # In this process the original has just done the same: an abort is the rewrite's doing, and so is a hang.
        original, taken = last.began - stages[-2].began, time.monotonic() - last.began
        if end.kind not in _SAYS_NOTHING or taken > 10 * original + 10:
            return CheckResult("different", reason, last.runs, last.finite)
    return CheckResult("equal" if last.runs else "not-run", reason, last.runs, last.finite)


def _environment(devices: int) -> dict[str, str]:
    return child.environment(devices, {"JAX_ENABLE_X64": "1"})
