"""Runs tasks in lanes: each lane in order, each task after those that it waits for, compute slower beside NCCL."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence
from typing import Literal

Kind = Literal["host", "compute", "transfer", "wait"]


@dataclasses.dataclass
class Task:
    """Something that takes time, in microseconds."""

    lane: str
    """Where it runs: tasks of one lane run in the order in which they are given."""

    kind: Kind
    """``wait`` takes no time, and keeps its lane until what it waits for has ended."""

    work: float
    """How long it takes by itself."""

    name: str
    """XLA's name of the instruction; of a transfer its opcode."""

    place: str
    """Where the user wrote it."""

    after: tuple[int, ...] = ()
    """The tasks, by index, that must have ended: all come before it."""

    resources: tuple[str, ...] = ()
    """What it needs for itself, besides its lane: a communicator of NCCL, or links. Who shares one runs in turn."""

    slows: float = 0.0
    """The share of its speed that compute beside it loses, as it holds multiprocessors."""

    times: int = 1
    """How often it runs, of which this time is simulated."""

    start: float = 0.0
    """When it started, once `run` has."""

    end: float = 0.0
    """When it ended, once `run` has."""

    cause: int | None = None
    """The task whose end let it start; None when it could start at once."""


def run(tasks: Sequence[Task]) -> float:
    """Fills in when each task starts and ends, and returns when the last one has ended."""
    return _Run(tasks).run()


class _Run:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._missing = [0] * len(tasks)
        """How many tasks each one still waits for."""
        self._dependents: list[list[int]] = [[] for _ in tasks]
        self._last: dict[int, int] = {}
        """The one whose end it waited for last."""
        self._running: dict[int, float] = {}
        """The work that is left of each."""
        queues: dict[str, int] = {}
        for index, task in enumerate(tasks):
            before = set(task.after)
            for queue in (task.lane, *task.resources):
                if queue in queues:
                    before.add(queues[queue])
                queues[queue] = index
            self._missing[index] = len(before)
            for other in before:
                self._dependents[other].append(index)

    def run(self) -> float:
        now = 0.0
        ready = [index for index, missing in enumerate(self._missing) if missing == 0]
        heapq.heapify(ready)
        while ready or self._running:
            while ready:
                index = heapq.heappop(ready)
                task = self._tasks[index]
                task.start = now
                task.cause = self._last.get(index)
                if task.work > 0:
                    self._running[index] = task.work
                else:
                    self._finish(index, now, ready)
            if self._running:
                now = self._advance(now, ready)
        return now

    def _advance(self, now: float, ready: list[int]) -> float:
        """Lets time pass until the next task ends, and returns when that is."""
        speed = 1.0 - max(self._tasks[index].slows for index in self._running)
        speeds = {index: speed if self._tasks[index].kind == "compute" else 1.0 for index in self._running}
        step = min(left / speeds[index] for index, left in self._running.items())
        now += step
        for index in list(self._running):
            self._running[index] -= step * speeds[index]
            if self._running[index] <= 1e-9:
                del self._running[index]
                self._finish(index, now, ready)
        return now

    def _finish(self, index: int, now: float, ready: list[int]) -> None:
        self._tasks[index].end = now
        for other in self._dependents[index]:
            self._missing[other] -= 1
            self._last[other] = index
            if self._missing[other] == 0:
                heapq.heappush(ready, other)
