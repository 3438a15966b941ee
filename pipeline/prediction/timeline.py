"""Writes a predicted run as a trace that Perfetto and Chrome open: one process a program, one track a lane."""

from __future__ import annotations

import bisect
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from hloverlap.pipeline.prediction.prediction import Prediction
from hloverlap.pipeline.prediction.tasks import HOST
from hloverlap.pipeline.xla.thunks import MAIN_STREAM

_NAMES = {HOST: "host", MAIN_STREAM: "compute stream"}


def trace(runs: Mapping[str, Prediction]) -> str:
    """Gives predicted runs by name in Chrome's trace-event format, JSON whose times are microseconds.

    A loop is shown as often as it was simulated; a slice on the compute stream stands for the times that follow.
    """
    events = [event for number, (name, run) in enumerate(runs.items(), 1) for event in _events(number, name, run)]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events})


def _events(process: int, name: str, run: Prediction) -> Iterator[dict[str, Any]]:
    lanes = dict.fromkeys([HOST, MAIN_STREAM, *sorted(task.lane for task in run.tasks)])
    threads = {lane: number for number, lane in enumerate(lanes, 1)}
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
    for lane, thread in threads.items():
        shared = {"ph": "M", "pid": process, "tid": thread}
        yield {**shared, "name": "thread_name", "args": {"name": _NAMES.get(lane, lane)}}
        yield {**shared, "name": "thread_sort_index", "args": {"sort_index": thread}}
    clock = _Clock(run)
    for task in run.tasks:
        start, end = clock.start(task.start), clock.end(task.end)
        if task.end > task.start:
            where = {"source": task.place} if task.place else {}
            yield _slice(process, threads[task.lane], task.name, task.kind, start, end, where)
    for until, windows in itertools.groupby(sorted(run.windows, key=lambda each: each.until), lambda each: each.until):
        names = dict.fromkeys(f"{window.name}: {window.times} times more" for window in windows)
        start, end = clock.end(until), clock.start(until)
        yield _slice(process, threads[MAIN_STREAM], ", ".join(names), "loop", start, end, {})


def _slice(
    process: int, thread: int, name: str, kind: str, start: float, end: float, more: Mapping[str, str]
) -> dict[str, Any]:
    shared = {"ph": "X", "pid": process, "tid": thread, "name": name, "cat": kind}
    return {**shared, "ts": start, "dur": end - start, "args": dict(more)}


class _Clock:
    """Turns simulated time into time of the whole run: later by what is repeated before."""

    def __init__(self, run: Prediction) -> None:
        windows = sorted(run.windows, key=lambda window: window.until)
        self._ends = [window.until for window in windows]
        self._more = [0.0, *itertools.accumulate(window.more for window in windows)]

    def start(self, time: float) -> float:
        """Gives when something begins, after what is repeated before it."""
        return time + self._more[bisect.bisect_right(self._ends, time)]

    def end(self, time: float) -> float:
        """Gives when something ends, before what is repeated after it."""
        return time + self._more[bisect.bisect_left(self._ends, time)]
