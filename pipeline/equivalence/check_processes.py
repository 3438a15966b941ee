"""Runs the child processes of a check in which the devices are spread over several processes, as over hosts."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hloverlap.pipeline.children.child import Child
from hloverlap.pipeline.children.ends import End
from hloverlap.pipeline.equivalence.deadlock import Watch

POLL = 0.02  # seconds

_STARTING = "starting the processes"


@dataclasses.dataclass(frozen=True)
class NoAnswer:
    """Says that a process ended without an answer, or that none answered in time."""

    end: End
    stage: str
    """What it was at."""

    def __str__(self) -> str:
        return f"{'each process' if self.end.kind == 'timeout' else 'a process'} {self.end}"


def answer(
    command: Sequence[str],
    folder: pathlib.Path,
    environment: Mapping[str, str],
    processes: int,
    time_limit: float,
    watch: Watch,
) -> dict[str, Any] | NoAnswer:
    """Runs `command` with each process's number after it until all have answered, one says no, or time is over.

    Returns the telling answer: that of a process that says no, if there is one, or what `watch` has found.
    """
    outputs = [folder / f"stdout-{number}" for number in range(processes)]
    with contextlib.ExitStack() as stack:
        children = []
        for number, output in enumerate(outputs):
            with output.open("wb") as stdout:
                child = Child([*command, str(number)], environment, stdout=stdout)
            children.append(stack.enter_context(child))
        deadline = time.monotonic() + time_limit
        while time.monotonic() < deadline:
            found = [_answer(child, output) for child, output in zip(children, outputs, strict=True)]
            for each in found:
                if each is not None and (isinstance(each, NoAnswer) or each["status"] != "equal"):
                    return each
            if found[0] is not None and None not in found:
                return found[0]
            if deadlock := watch.look(_slowest_stage(outputs)):
                return deadlock
            time.sleep(POLL)
        return NoAnswer(
            End("timeout", f"no end within {time_limit:g} s"), _slowest_stage(outputs).get("stage", _STARTING)
        )


def _answer(child: Child, output: pathlib.Path) -> dict[str, Any] | NoAnswer | None:
    """Gives what a process has said, None if it still may."""
    over = child.is_over()
    for line in lines(output):
        if "status" in line:
            return line
    return NoAnswer(child.end(), _slowest_stage([output]).get("stage", _STARTING)) if over else None


def _slowest_stage(outputs: Sequence[pathlib.Path]) -> dict[str, Any]:
    """Gives where the process is that has come least far: others may be done with that, and wait in what follows."""
    begun = min(([line for line in lines(output) if "stage" in line] for output in outputs), key=len)
    return begun[-1] if begun else {}


def lines(output: pathlib.Path) -> list[dict[str, Any]]:
    """Reads the whole lines so far."""
    text = output.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("{")]
