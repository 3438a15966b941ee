"""Whether two modules compute the same bits, by running both on virtual CPU devices in a process of their own."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Literal

from jaxlib.mlir import ir

from hloverlap.pipeline import structure
from hloverlap.pipeline.dialects import make_context
from hloverlap.pipeline.entry import device_count

Status = Literal["equal", "different", "not-run"]
Progress = Callable[[str], None]

SEEDS = (0, 1, 2)
TIME_LIMIT = 300.0


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """What came out.

    status: ``equal`` (same bits on every input that was run), ``different``, or ``not-run`` (this machine cannot say).
    reason: a clause that says what differs, or why nothing could be run; "" when equal.
    runs: on how many inputs both modules ran and agreed.
    finite: the largest share, over the inputs, of floating-point results that were neither infinite nor NaN.
    structure: only with ``not-run``: what differs between what the two modules send over the wire, "" for nothing.
    """

    status: Status
    reason: str = ""
    runs: int = 0
    finite: float = 0.0
    structure: str | None = None

    def __str__(self) -> str:
        """One sentence for people."""
        if self.status == "equal":
            finite = f"{self.finite:.0%} of the floating-point results finite" if self.finite < 1 else "all finite"
            return f"equal: the same bits on {self.runs} random inputs ({finite})"
        if self.status == "different":
            return f"different: {self.reason}"
        wire = "the same data goes over the wire" if not self.structure else f"on the wire, {self.structure}"
        return f"not run: {self.reason}; {wire}" if self.structure is not None else f"not run: {self.reason}"


def check(
    before: bytes,
    after: bytes,
    *,
    seeds: Sequence[int] = SEEDS,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
) -> CheckResult:
    """Compiles two modules for as many virtual CPU devices as they name, runs both and compares all result shards.

    before, after: StableHLO as MLIR text or bytecode. seeds: one run each, of ordinary, positive and special inputs in
    turn (see inputs). time_limit: seconds for everything. progress: is told what begins.
    An abort, a kill and a hang of XLA are results, not exceptions. Raises ir.MLIRError for bytes that are no module.
    """
    module = ir.Module.parse(before, make_context())
    devices = device_count(module, "replicas") * device_count(module, "partitions")
    with tempfile.TemporaryDirectory(prefix="hlo-opt-check-") as name:
        folder = pathlib.Path(name)
        (folder / "before").write_bytes(before)
        (folder / "after").write_bytes(after)
        request = {"seeds": list(seeds), "time_limit": time_limit}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        result = _run_child(folder, devices, time_limit, progress or (lambda stage: None))
    if result.status != "not-run":
        return result
    difference = structure.first_difference(module, ir.Module.parse(after, make_context()))
    return dataclasses.replace(result, structure=difference)


def _run_child(folder: pathlib.Path, devices: int, time_limit: float, progress: Progress) -> CheckResult:
    command = [sys.executable, "-m", "hloverlap.pipeline.comparing", str(folder)]
    late = threading.Event()
    last: dict[str, Any] = {"stage": "starting", "runs": 0}
    with (
        open(folder / "stderr", "w+b") as stderr,
        subprocess.Popen(
            command, env=_environment(devices), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr
        ) as child,
    ):
        timer = threading.Timer(time_limit, lambda: (late.set(), child.kill()))
        timer.start()
        try:
            assert child.stdout is not None
            for line in child.stdout:
                message = json.loads(line)
                if "status" in message:
                    return CheckResult(**message)
                last = message
                progress(message["stage"])
        finally:
            timer.cancel()
            child.kill()  # nothing to lose: the answer is in, or will not come
        child.wait()
        return _without_answer(last, late.is_set(), child.returncode, time_limit, stderr)


def _without_answer(
    last: Mapping[str, Any], late: bool, status: int, time_limit: float, stderr: IO[bytes]
) -> CheckResult:
    """The child ended without a word."""
    stage, runs = last["stage"], last["runs"]
    if late:
        how = f"there was no end within {time_limit:g} s"
    elif status == -9:
        how = "the process was killed, as happens when memory runs out"
    else:
        stderr.seek(0)
        how = f"the process ended with status {status}: {_last_words(stderr.read().decode(errors='replace'))}"
    # What the original did in the same process, the rewritten module must do too; only time and memory may run out.
    if "rewritten" in stage and not late and status != -9:
        return CheckResult("different", f"while {stage}, {how}", runs)
    if runs:  # a later input was too much for the original, too
        return CheckResult("equal", "", runs)
    return CheckResult("not-run", f"while {stage}, {how}", runs)


def _last_words(stderr: str) -> str:
    """What XLA says when it aborts, else the last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not line.lstrip().startswith("@")]
    fatal = [match[1] for line in lines if (match := re.match(r"F\d{4} [\d:.]+ +\d+ (.*)", line))]
    return (fatal or lines or ["it said nothing"])[-1] if not fatal else fatal[0]


def _environment(devices: int) -> dict[str, str]:
    """The caller's, without what would change how jax and XLA compile and run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "TF_"))}
    return kept | {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
