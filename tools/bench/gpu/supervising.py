"""Keeps a measuring process going: notes what it reports, ends it when it hangs, and goes on without what broke it."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from hloverlap.pipeline.children.child import Child, python
from hloverlap.tools.bench.gpu.journal import Order, Reader
from hloverlap.tools.bench.gpu.variants import PLAIN, kin

WORKER = "hloverlap.tools.bench.gpu.worker"

# Seconds without a word after which the process hangs, by what it was at.
_PATIENCE = {"run": 60.0, "time": 45.0, "profile": 60.0}
_PATIENCE_ELSE = 120.0  # starting JAX, NCCL, compiling
_MOST_FAULTS = 2  # of one variant, after which it is left out everywhere
_MOST_STARTS = 4  # of the process for one case
_POLL = 0.2


@dataclasses.dataclass
class Outcome:
    """What came of one order."""

    machine: dict[str, Any] = dataclasses.field(default_factory=dict)
    results: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """What was measured, by case, in order."""
    profiles: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """Case -> variant -> what the trace says: of each device, and the share of the time with transfers in which two
    ran."""
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
    faults: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    broken: dict[str, list[str]] = dataclasses.field(default_factory=dict)


class Supervisor:
    """Carries out one order in `folder`.

    changed: called with the outcome so far whenever a case ended.
    command: the measuring process, to which the folder is added; WORKER by default. It keeps the caller's own settings
    of jax and XLA, which are part of what is measured.
    patience: factor on the time it may be silent.
    """

    def __init__(
        self,
        order: Order,
        folder: pathlib.Path,
        changed: Callable[[Outcome], None],
        command: Sequence[str] = (),
        patience: float = 1.0,
    ) -> None:
        self._order = order
        self._folder = folder
        self._changed = changed
        self._command = command or python(WORKER)
        self._patience = patience
        self._done: dict[str, None] = {}
        self._careful: dict[str, None] = {}
        self._starts: dict[str, int] = {}
        self._at = {"case": "", "variant": "", "phase": "start"}
        self._finished = False
        self._told_fault = ""
        self.outcome = Outcome()
        folder.mkdir(parents=True, exist_ok=True)

    def run(self) -> Outcome:
        """Goes on until all is done, the deadline has passed, or nothing more can be had."""
        reader = Reader(self._folder / "journal.jsonl")
        while not self._finished and time.time() < self._order.deadline:
            self._starts[self._at["case"]] = self._starts.get(self._at["case"], 0) + 1
            self._at = {"case": "", "variant": "", "phase": "start"}
            message = self._watch(reader)
            if self._finished or time.time() >= self._order.deadline:
                break
            self._blame(message)
            if not self._at["case"] and self._starts.get("", 0) >= _MOST_STARTS:
                self.outcome.skipped["everything else"] = f"the measuring process does not start: {message}"
                break
        if not self._finished and self._at["case"] and self._at["case"] not in self._done:
            self.outcome.skipped[self._at["case"]] = "time ran out while it was measured"
        self._changed(self.outcome)
        return self.outcome

    def _watch(self, reader: Reader) -> str:
        """Runs one process to its end; returns why it ended early, "" if it did not."""
        faults = {case: dict(of_case) for case, of_case in self.outcome.faults.items()}
        order = dataclasses.replace(self._order, done=tuple(self._done), careful=tuple(self._careful), faults=faults)
        order.write(self._folder / "order.json")
        with Child([*self._command, str(self._folder)]) as child:
            why = self._wait(child, reader)
            if why:
                child.kill()
            self._take(reader)
            return why if why or self._finished else self._told_fault or str(child.end())

    def _wait(self, child: Child, reader: Reader) -> str:
        self._told_fault = ""
        heard = time.time()
        while not child.is_over():
            if self._take(reader):
                heard = time.time()
            patience = self._patience * _PATIENCE.get(self._at["phase"], _PATIENCE_ELSE)
            if time.time() - heard > patience:
                return f"hung: nothing happened for {patience:.0f} s"
            if time.time() > self._order.deadline:
                return "time ran out"
            time.sleep(_POLL)
        return ""

    def _take(self, reader: Reader) -> bool:
        """Notes what was reported; says whether anything was."""
        events = reader.new()
        for event in events:
            kind, case = event.pop("event"), event.get("case", "")
            if kind == "machine":
                self.outcome.machine = event
            elif kind == "at":
                self._at = event
            elif kind == "result":
                self.outcome.results[case] = event["result"]
                if event["last"]:
                    self._done[case] = None
                self._changed(self.outcome)
            elif kind == "profile":
                self.outcome.profiles.setdefault(case, {})[event["variant"]] = {
                    "devices": event["devices"],
                    "together": event["together"],
                }
                self._changed(self.outcome)
            elif kind == "skipped":
                self.outcome.skipped[case] = event["reason"]
                self._done[case] = None
            elif kind == "fault":
                self._told_fault = event["message"]
            elif kind == "finished":
                self._finished = True
        return bool(events)

    def _blame(self, message: str) -> None:
        """Decides what the next process leaves out."""
        case, variant, phase = self._at["case"], self._at["variant"], self._at["phase"]
        if not case or case in self._done:
            if case:  # a trace failed: the times are there
                self.outcome.broken.setdefault(f"{phase} {variant}", []).append(f"{case}: {message}")
            return
        if variant == "*" and phase == "compile":
            self._careful[case] = None
        elif variant in ("", "*", PLAIN) or self._starts.get(case, 0) >= _MOST_STARTS:
            self._give_up(case, message)
        else:
            self.outcome.broken.setdefault(variant, []).append(f"{case}: {message}")
            self.outcome.faults.setdefault(case, {})[variant] = message
            if sum(len(self.outcome.broken.get(name, ())) for name in kin(variant)) >= _MOST_FAULTS:
                why = f"left out after {_MOST_FAULTS} failures of it or its like"
                self.outcome.faults.setdefault("*", {}).update(dict.fromkeys(kin(variant), why))

    def _give_up(self, case: str, message: str) -> None:
        self._done[case] = None
        self.outcome.skipped[case] = message
