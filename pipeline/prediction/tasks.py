"""Makes tasks in lanes of steps: the host that starts everything, the main stream, a lane for each other stream."""

from __future__ import annotations

import dataclasses

from hloverlap.pipeline.prediction.durations import Durations
from hloverlap.pipeline.prediction.schedule import Schedule, Step
from hloverlap.pipeline.prediction.simulation import Task
from hloverlap.pipeline.xla.thunks import MAIN_STREAM

HOST = "host"
SIMULATED = 3  # times that a loop is simulated at most: the queues are then as full as they will be


@dataclasses.dataclass(frozen=True)
class Repeat:
    """The last simulated time of a loop that runs more often, as ``tasks[first:last]``."""

    name: str
    """XLA's name of the loop."""

    first: int
    last: int

    times: int
    """How many times it stands for besides the one that is simulated."""

    until: int
    """Those times lie before the task of this index."""


@dataclasses.dataclass
class Program:
    """The tasks of a schedule, in the order in which the host starts them, and what of it is repeated."""

    tasks: list[Task] = dataclasses.field(default_factory=list)
    repeats: list[Repeat] = dataclasses.field(default_factory=list)


def build(schedule: Schedule, durations: Durations) -> Program:
    """Gives the tasks of a schedule on a machine."""
    builder = _Builder(durations)
    builder.host(durations.host_costs.run, "run", "")
    builder.steps(schedule, MAIN_STREAM)
    return builder.program


class _Builder:
    def __init__(self, durations: Durations) -> None:
        self.program = Program()
        self._durations = durations
        self._last: dict[str, int] = {}
        """The last task of each lane."""
        self._ends: dict[int | None, tuple[int, ...]] = {}
        """What each asynchronous start ends with."""

    def steps(self, steps: Schedule, lane: str) -> None:
        for step in steps:
            self._step(step, lane)

    def host(self, work: float, name: str, place: str, after: tuple[int, ...] = ()) -> int:
        return self._add(Task(HOST, "host", work, name, place, after))

    def _step(self, step: Step, lane: str) -> None:
        if step.kind == "loop":
            self._loop(step, lane)
        elif step.kind == "branch":
            self._ask(step, lane)
            self.steps(step.body, lane)
        elif step.kind == "start":
            self._start(step, lane)
        elif step.kind == "done":
            self.host(self._durations.host_costs.event, step.name, step.place)
            self._add(Task(lane, "wait", 0.0, step.name, step.place, self._ends.pop(step.async_id, ())))
        else:
            self._run(step, lane)

    def _run(self, step: Step, lane: str) -> None:
        """Puts a kernel or a transfer into a lane, once the host has started it."""
        durations = self._durations
        started = self.host(durations.host(step), step.name, step.place)
        if step.kind == "kernel":
            self._add(Task(lane, "compute", durations.kernel(step), step.name, step.place, (started,)))
        else:
            way = durations.transfer(step.messages)
            what = " and ".join(dict.fromkeys(message.opcode for message in step.messages))
            task = Task(lane, "transfer", way.time, what, step.place, (started,))
            task.resources, task.slows = way.resources, way.slows
            self._add(task)

    def _start(self, step: Step, lane: str) -> None:
        """Runs the body on a stream of its own, after what the main stream was given before."""
        started = self.host(self._durations.host_costs.event, step.name, step.place)
        before = (self._last[lane],) if lane in self._last else ()
        self._add(Task(step.stream, "wait", 0.0, step.name, step.place, (started, *before)))
        self.steps(step.body, step.stream)
        self._ends[step.async_id] = (self._last[step.stream],)

    def _loop(self, step: Step, lane: str) -> None:
        trips = 1 if step.trips is None else step.trips
        first = len(self.program.tasks)
        for _ in range(min(trips, SIMULATED)):
            first = len(self.program.tasks)
            if step.trips is None:
                self._ask(step, lane)
            else:
                self.host(self._durations.host_costs.turn, step.name, step.place)
            self.steps(step.body, lane)
        more, last = trips - SIMULATED, len(self.program.tasks)
        if more > 0:
            repeats = self.program.repeats
            inner = [each for each in repeats if each.first >= first]
            repeats += [dataclasses.replace(each, times=each.times * more, until=last) for each in inner]
            repeats.append(Repeat(step.name, first, last, more, last))
            for task in self.program.tasks[first:last]:
                task.times *= 1 + more

    def _ask(self, step: Step, lane: str) -> None:
        """Has the host wait for a value of the device before it goes on."""
        self.host(
            self._durations.host_costs.event, step.name, step.place, (self._last[lane],) if lane in self._last else ()
        )

    def _add(self, task: Task) -> int:
        index = len(self.program.tasks)
        self.program.tasks.append(task)
        self._last[task.lane] = index
        return index
