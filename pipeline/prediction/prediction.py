"""Predicts how long a program takes on a machine, and where the time goes."""

from __future__ import annotations

import bisect
import dataclasses
import os
from collections import defaultdict
from collections.abc import Sequence

from hloverlap.passes.machine.target import Costs
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.prediction import simulation, tasks
from hloverlap.pipeline.prediction.durations import Durations
from hloverlap.pipeline.prediction.schedule import Schedule
from hloverlap.pipeline.prediction.simulation import Task
from hloverlap.pipeline.xla.thunks import MAIN_STREAM


@dataclasses.dataclass(frozen=True)
class Spent:
    """Microseconds of a program."""

    compute: float = 0.0
    """In which the device computes."""

    hidden: float = 0.0
    """In which a transfer runs, and the device computes; part of `compute`."""

    exposed: float = 0.0
    """In which transfers run, and nothing else."""

    idle: float = 0.0
    """In which the device waits for the host."""

    @property
    def time(self) -> float:
        """Gives the whole."""
        return self.compute + self.exposed + self.idle

    def plus(self, other: Spent, times: float = 1.0) -> Spent:
        """Gives this and `times` the other."""
        return Spent(
            *(
                mine + times * its
                for mine, its in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
            )
        )


@dataclasses.dataclass(frozen=True)
class Doing:
    """What time is spent on."""

    kind: simulation.Kind
    name: str
    """Of a transfer its opcode; of a kernel XLA's name where `place` is "", else ""."""
    place: str
    """Where the user wrote it."""

    @classmethod
    def of(cls, task: Task) -> Doing:
        """Gives what a task is for; all that the host does is one."""
        if task.kind == "host":
            return cls("host", "", "")
        return cls(task.kind, task.name if task.kind == "transfer" or not task.place else "", task.place)

    def __str__(self) -> str:
        """Gives it in words: ``collective-permute of ring.py:28``, ``kernels of ring.py:30``, ``the host``."""
        if self.kind == "host":
            return "the host"
        what = self.name or "kernels"
        file, _, line = os.path.basename(self.place).rpartition(":")
        where = f"line {line}" if file == "-" else os.path.basename(self.place)
        return f"{what} of {where}" if self.place else what


@dataclasses.dataclass(frozen=True)
class Window:
    """A stretch of simulated time that stands for more of its kind. Times are microseconds from the start."""

    name: str
    """XLA's name of the loop."""
    start: float
    end: float
    times: int
    """How many more."""
    until: float
    """When they are over, but for the time that they take themselves."""
    lag: float
    """By how much the host takes longer for it than the device."""

    @property
    def more(self) -> float:
        """Gives how much longer the program is by it."""
        return self.times * (self.end - self.start + self.lag)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """A simulated run of a program on one device; all devices do the same."""

    spent: Spent
    tasks: tuple[Task, ...]
    """What ran, in simulated time: a loop's first times."""
    windows: tuple[Window, ...]
    """The simulated time that stands for more of its kind."""
    borrowed: tuple[str, ...]
    """Costs that the machine's file does not give, and that were taken from another machine's."""

    @property
    def time(self) -> float:
        """Gives the microseconds of one run."""
        return self.spent.time

    def critical_path(self) -> dict[Doing, float]:
        """Gives the chain of tasks, each of which waited for the one before, that ends last: microseconds by op.

        The most first; in all they are the time of the run, as far as a repeated loop takes as long as it was seen to.
        """
        found: defaultdict[Doing, float] = defaultdict(float)
        index: int | None = max(range(len(self.tasks)), key=lambda index: self.tasks[index].end, default=None)
        while index is not None:
            task = self.tasks[index]
            found[Doing.of(task)] += task.times * (task.end - task.start)
            index = task.cause
        return {doing: found[doing] for doing in sorted(found, key=lambda doing: -found[doing]) if found[doing] > 0}

    def exposed(self) -> dict[Doing, float]:
        """Gives how long each transfer runs while the device computes nothing, by op."""
        busy = _Busy(self.tasks)
        found: defaultdict[Doing, float] = defaultdict(float)
        for task in self.tasks:
            if task.kind == "transfer":
                found[Doing.of(task)] += task.times * busy.between(task.start, task.end).exposed
        return dict(found)

    def computed(self) -> dict[Doing, float]:
        """Gives how long kernels take, by op."""
        found: defaultdict[Doing, float] = defaultdict(float)
        for task in self.tasks:
            if task.kind == "compute":
                found[Doing.of(task)] += task.times * (task.end - task.start)
        return dict(found)


def predict(schedule: Schedule, costs: Costs, topology: Topology) -> Prediction:
    """Simulates a program on a machine."""
    durations = Durations(costs, topology)
    program = tasks.build(schedule, durations)
    end = simulation.run(program.tasks)
    windows = _windows(program)
    busy = _Busy(program.tasks)
    spent = busy.between(0.0, end)
    for window in windows:
        spent = spent.plus(busy.between(window.start, window.end), window.times).plus(
            Spent(idle=window.lag), window.times
        )
    return Prediction(spent, tuple(program.tasks), tuple(windows), tuple(sorted(durations.borrowed)))


def _windows(program: tasks.Program) -> list[Window]:
    """Gives when the repeated times of loops ran."""
    main, host = _ends(program.tasks, MAIN_STREAM), _ends(program.tasks, tasks.HOST)
    windows = []
    for repeat in program.repeats:
        start, end = main[repeat.first], main[repeat.last]
        lag = max(0.0, host[repeat.last] - host[repeat.first] - (end - start))
        windows.append(Window(repeat.name, start, end, repeat.times, main[repeat.until], lag))
    return windows


def _ends(all_tasks: Sequence[Task], lane: str) -> list[float]:
    """Says for each index when the last task of a lane before it ended."""
    ends = [0.0]
    for task in all_tasks:
        ends.append(task.end if task.lane == lane else ends[-1])
    return ends


class _Busy:
    """What the device does at any time."""

    def __init__(self, all_tasks: Sequence[Task]) -> None:
        events = [(max((task.end for task in all_tasks), default=0.0), "", 0)]
        for task in all_tasks:
            if task.kind in ("compute", "transfer") and task.end > task.start:
                events += [(task.start, task.kind, 1), (task.end, task.kind, -1)]
        events.sort()
        self._times = [0.0]
        self._sums = [Spent()]
        running = {"compute": 0, "transfer": 0, "": 0}
        for time, kind, change in events:
            length = time - self._times[-1]
            if length > 0:
                now = Spent(
                    compute=length if running["compute"] else 0.0,
                    hidden=length if running["compute"] and running["transfer"] else 0.0,
                    exposed=length if running["transfer"] and not running["compute"] else 0.0,
                    idle=length if not running["transfer"] and not running["compute"] else 0.0,
                )
                self._times.append(time)
                self._sums.append(self._sums[-1].plus(now))
            running[kind] += change

    def between(self, start: float, end: float) -> Spent:
        return self._until(end).plus(self._until(start), -1.0)

    def _until(self, time: float) -> Spent:
        index = bisect.bisect_right(self._times, time) - 1
        if index + 1 == len(self._times) or time == self._times[index]:
            return self._sums[index]
        share = (time - self._times[index]) / (self._times[index + 1] - self._times[index])
        step = self._sums[index + 1].plus(self._sums[index], -1.0)
        return self._sums[index].plus(step, share)
