"""Finds out whether a run that has been silent for a while waits for ever, and where each process waits.

Silence proves nothing, so StableHLO's interpreter runs both modules on the same inputs meanwhile, in a process of its
own: it sees a deadlock. The run goes on until that is proved, or until its time is over.
"""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from hloverlap.pipeline.children import child
from hloverlap.pipeline.equivalence import waits
from hloverlap.pipeline.equivalence.waits import Waits

SILENCE = 3.0  # seconds before the interpreter is asked; most runs of a check are over by then

_TIME_LIMIT = 120.0  # seconds for the interpreter


class Watch:
    """Watches one run after another of a check. Leaving the ``with`` ends the process that it has started."""

    def __init__(self, folder: pathlib.Path, devices: int, processes: int = 0) -> None:
        """Takes the folder of the check. processes: over how many the devices are spread; 0 for within one."""
        self._folder = folder
        self._unit = "process" if processes else "device"
        self._devices = devices // processes if processes else 1  # of one unit
        self._run: Sequence[object] | None = None
        self._since = 0.0
        self._asked: child.Child | None = None
        self._is_answered = False

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def look(self, stage: Mapping[str, Any]) -> dict[str, Any] | None:
        """Gives the fields of a CheckResult once a deadlock is proved; is to be called often.

        stage: what the child has said last (see check_child). Its ``run`` is a list of which module runs (``original``
        or ``rewritten``), the kind of its inputs and their seed.
        """
        run = stage.get("run")
        if run != self._run:
            self._stop()
            self._run, self._since, self._is_answered = run, time.monotonic(), False
        elif run is None or self._is_answered:
            pass
        elif self._asked is None:
            if time.monotonic() - self._since >= SILENCE:
                self._ask(run)
        elif self._asked.is_over():
            self._is_answered = True
            if answer := self._judge(run):
                status, reason = answer
                same = "equal" if stage["runs"] else "not-run"
                return {"status": status or same, "reason": reason, "runs": stage["runs"], "finite": stage["finite"]}
        return None

    def _ask(self, run: Sequence[object]) -> None:
        command = child.python("hloverlap.pipeline.equivalence.deadlock_child", self._folder, *run[1:])
        with self._answers.open("wb") as stdout:
            self._asked = child.Child(command, child.environment(), _TIME_LIMIT, stdout=stdout)

    def _judge(self, run: Sequence[object]) -> tuple[str, str] | None:
        """Gives a status, "" for what it was before this run, and a clause that says where each process waits."""
        found: dict[str, Waits | None] = {}
        for line in self._answers.read_text(encoding="utf-8").splitlines():
            role, waiting = json.loads(line)
            found[role] = None if waiting is None else {int(number): place for number, place in waiting.items()}
        before, after = found.get("before"), found.get("after")
        which, kind, seed = run
        inputs = f"on {kind} inputs, seed {seed}"
        if which == "original" and before:
            rewritten = "waits, too" if after else "may wait, too" if after is None else "comes to its end"
            where = self._say(before)
            return "", f"{inputs}, the program itself waits for ever: {where}; the rewritten one {rewritten}"
        if which == "rewritten" and before is not None and not before and after:
            where = self._say(after)
            return "different", f"{inputs}, the original comes to its end, the rewritten module waits for ever: {where}"
        return None

    def _say(self, waiting: Waits) -> str:
        units = waits.of_units(waiting, self._devices)
        if len(set(units.values())) == 1:  # and so says nothing: it is devices of one process that part ways
            return waits.in_words(waiting, "device")
        return waits.in_words(units, self._unit)

    @property
    def _answers(self) -> pathlib.Path:
        return self._folder / "deadlock"

    def _stop(self) -> None:
        if self._asked is not None:
            self._asked.stop()
            self._asked = None
