"""Runs two modules and compares their results, in a process that may abort, hang or be killed.

    python -m hloverlap.pipeline.equivalence.check_child FOLDER [PROCESS]

FOLDER holds ``request.json`` and the modules ``before`` and ``after``. Each line of stdout is JSON: for each thing that
begins ``{"stage": ..., "run": ...}`` with the fields of `Done`, at last the fields of a CheckResult.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from jaxlib.mlir import ir

from hloverlap.pipeline.equivalence import work_estimate
from hloverlap.pipeline.equivalence.differences import finite_share, first_difference
from hloverlap.pipeline.equivalence.entry import Entry, NotRunnableError, open_sides, read
from hloverlap.pipeline.equivalence.inputs import KINDS
from hloverlap.pipeline.equivalence.xla_program import UNFUSED, UNSIMPLIFIED, UNWIDENED, CompiledProgram
from hloverlap.pipeline.jax_internals import distributed

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Array, Kind

Source = tuple[ir.Module, Entry]

SEARCH = 16  # inputs to try until the original's results are finite
FINITE_ENOUGH = 0.9


@dataclasses.dataclass(frozen=True)
class Done:
    """Says what is known so far."""

    runs: int = 0
    """On how many inputs the modules agreed."""
    finite: float = 0.0
    """The largest share of finite floating-point results among these."""
    suspect: str = ""
    """A difference that is being looked into."""


class DifferentError(Exception):
    """Says that the rewritten module cannot do what the original can; the text is a clause."""


class XlaFailureError(NotRunnableError):
    """Says that XLA reports an error."""


def main(folder: pathlib.Path, process: int = 0) -> None:
    """Answers the request in `folder`; `process` is the number of this one where there are several."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    try:
        if request["way"] == "processes":
            answer = _compare_together(folder, request, process)
        elif request["way"] == "interpreter":
            answer = _compare_interpreted(folder, request["seeds"], request["time_limit"])
        else:
            answer = compare(folder, request["seeds"], request["time_limit"])
    except DifferentError as error:
        answer = _different(f"{error}")
    except NotRunnableError as error:
        answer = {"status": "not-run", "reason": f"{error}"}
    _say(answer)


def compare(folder: pathlib.Path, seeds: Sequence[int], time_limit: float) -> dict[str, Any]:
    """Compiles both modules, runs both once for each seed, and answers as `main` says it. Raises NotRunnableError.

    time_limit: seconds for everything; seeds for which no time is left are not run.
    """
    start = time.monotonic()
    before, after = read(folder / "before"), read(folder / "after")
    if before[1].parameters != after[1].parameters or before[1].devices != after[1].devices:
        return _different("the rewritten module takes other arguments, or other numbers of devices")
    _refuse_hopeless(*before, time_limit)
    pair = _compile(before, after, {})
    done, longest, closer = Done(), 0.0, [UNFUSED, UNSIMPLIFIED, UNWIDENED]
    for position, seed in enumerate(seeds):
        began = time.monotonic()
        if done.runs and began - start + 2 * longest > time_limit:
            break
        kind = KINDS[position % len(KINDS)]
        if kind == "positive":
            with _stage("looking for inputs with finite results", done, ("original", kind, seed)):
                seed = _telling_seed(pair.original, kind, seed, time_limit / 10)
        difference, share = pair.compare(kind, seed, done)
        while difference and closer:
            # Told apart from what fusion does to rounding and to NaNs, and from what f32 does to the NaNs of bf16.
            done = dataclasses.replace(done, suspect=f"on {kind} inputs, seed {seed}, {difference}")
            options = closer.pop(0)
            try:
                pair = _compile(before, after, options, done)
            except (XlaFailureError, DifferentError):
                if options is UNFUSED:
                    raise
                continue
            difference, share = pair.compare(kind, seed, done)
        if difference:
            if pair.compare(kind, seed, done, rewritten=pair.original)[0]:
                raise NotRunnableError("the original gives other bits each time it runs on the same inputs")
            return _different(f"on {kind} inputs, seed {seed}, {difference}")
        done = Done(done.runs + 1, max(done.finite, share))
        longest = max(longest, time.monotonic() - began)
    return {"status": "equal", "reason": "", "runs": done.runs, "finite": done.finite}


def _compare_together(folder: pathlib.Path, request: Mapping[str, Any], process: int) -> dict[str, Any]:
    """Compares as one of several processes.

    All do the same on the same inputs, so nothing may depend on time or on results.
    """
    distributed.join(request["coordinator"], request["processes"], process)
    before, after = read(folder / "before"), read(folder / "after")
    try:
        pair = _compile(before, after, UNWIDENED)
    except (XlaFailureError, DifferentError):
        pair = _compile(before, after, UNFUSED)
    return _each_seed(pair, request["seeds"])


def _compare_interpreted(folder: pathlib.Path, seeds: Sequence[int], time_limit: float) -> dict[str, Any]:
    from hloverlap.pipeline.equivalence.interpreter import program

    before, after = read(folder / "before"), read(folder / "after")
    _refuse_hopeless(*before, time_limit, program.RATE)
    return _each_seed(Pair(program.InterpretedProgram(*before), program.InterpretedProgram(*after)), seeds)


def _each_seed(pair: Pair, seeds: Sequence[int]) -> dict[str, Any]:
    """Runs both once on each kind of input, where every op computes the same bits each time."""
    done = Done()
    for position, seed in enumerate(seeds):
        kind = KINDS[position % len(KINDS)]
        difference, share = pair.compare(kind, seed, done)
        if difference:
            return _different(f"on {kind} inputs, seed {seed}, {difference}")
        done = Done(done.runs + 1, max(done.finite, share))
    return {"status": "equal", "reason": "", "runs": done.runs, "finite": done.finite}


class Runnable(Protocol):
    """What can be run on inputs of a kind, such as a CompiledProgram."""

    def run(self, kind: Kind, seed: int) -> list[list[Array]]:
        """Runs once; result[output][device] is that device's part."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """Holds both modules, compiled alike."""

    original: Runnable
    rewritten: Runnable

    def compare(self, kind: Kind, seed: int, done: Done, rewritten: Runnable | None = None) -> tuple[str, float]:
        """Gives the first difference, "" for none, and the share of finite results. rewritten: is run instead."""
        inputs = f"{kind} inputs, seed {seed}"
        with _stage(f"running the original on {inputs}", done, ("original", kind, seed)):
            wanted = self.original.run(kind, seed)
        try:
            with _stage(f"running the rewritten module on {inputs}", done, ("rewritten", kind, seed)):
                got = (rewritten or self.rewritten).run(kind, seed)
        except XlaFailureError as error:
            raise DifferentError(f"the original runs, the rewritten module does not: {error}") from error
        return first_difference(wanted, got), finite_share(wanted)


def _compile(before: Source, after: Source, options: Mapping[str, int | bool | str], done: Done = Done()) -> Pair:
    how = "" if not options else ", each op a kernel of its own"
    with _stage(f"compiling the original{how}", done):
        original = CompiledProgram(*before, options, open_sides(before[0], after[0]))
    try:
        with _stage(f"compiling the rewritten module{how}", done):
            rewritten = CompiledProgram(*after, options)
    except XlaFailureError as error:
        raise DifferentError(f"the original compiles, the rewritten module does not: {error}") from error
    _refuse_large(original, rewritten)
    return Pair(original, rewritten)


def _telling_seed(program: Runnable, kind: Kind, seed: int, time_limit: float) -> int:
    """Finds a seed on which the program's results are finite, for NaNs tell little; the best of those tried."""
    start = time.monotonic()
    best, best_share = seed, -1.0
    for attempt in range(SEARCH):
        tried = seed + 1000 * attempt
        share = finite_share(program.run(kind, tried))
        if share > best_share:
            best, best_share = tried, share
        if best_share >= FINITE_ENOUGH or time.monotonic() - start > time_limit:
            break
    return best


def _refuse_hopeless(module: ir.Module, entry: Entry, time_limit: float, rate: float = 0.0) -> None:
    """Raises NotRunnableError where one run of each module takes more than the time that there is.

    rate: floating-point operations a second; 0 for what XLA does on all cores here.
    """
    work = 2 * entry.replicas * work_estimate.flops(module, entry.partitions)  # one run of each module
    rate = rate or work_estimate.CORE_RATE * (os.cpu_count() or 1)
    if work > time_limit / 2 * rate:
        raise NotRunnableError(
            f"one run of each module is {work:.1e} floating-point operations, about {work / rate:.0f} s on this CPU, "
            f"too much for a limit of {time_limit:g} s"
        )


def _refuse_large(original: CompiledProgram, rewritten: CompiledProgram) -> None:
    need, have = original.memory() + rewritten.memory(), work_estimate.available_memory()
    if need > have:
        raise NotRunnableError(f"the two modules need {need / 2**30:.1f} GiB and {have / 2**30:.1f} GiB are free")


@contextlib.contextmanager
def _stage(stage: str, done: Done = Done(), run: tuple[str, Kind, int] | None = None) -> Iterator[None]:
    """Says what begins, and turns what XLA raises into XlaFailureError. run: for a run, as deadlock.Watch takes it."""
    _say({"stage": stage, "run": run, **dataclasses.asdict(done)})
    try:
        yield
    except Exception as error:  # XLA raises RuntimeError, ValueError and its own
        raise XlaFailureError(next(iter(f"{error}".strip().splitlines()), type(error).__name__)) from error


def _different(reason: str) -> dict[str, Any]:
    return {"status": "different", "reason": reason}


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
