"""Measures how long collectives ran at the same time, from the kernels and copies in a trace of JAX's profiler."""

from __future__ import annotations

import collections
import dataclasses
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

_KINDS_SHOWN = 6  # kernels that are told for each stream


@dataclasses.dataclass(frozen=True)
class Interval:
    """One kernel or copy."""

    start: float
    """Nanoseconds."""
    end: float
    """Nanoseconds."""
    stream: str
    """The trace's name of the CUDA stream."""
    name: str
    op: str = ""
    """XLA's name of what it belongs to, the same on all devices that take part in a collective."""

    @property
    def is_transfer(self) -> bool:
        """Says whether it moves data between devices: an NCCL kernel or a copy to a peer."""
        name = self.name.lower()
        return "nccl" in name or "p2p" in name or "peer" in name


@dataclasses.dataclass(frozen=True)
class Overlap:
    """What ran at the same time on one device; all in microseconds."""

    transfers: float
    """Time in which at least one transfer ran."""
    beside_compute: float
    """Time in which a transfer and something else ran."""
    whole: float
    """Time from the first start to the last end."""
    streams: dict[str, list[tuple[str, int, float]]]
    """Stream -> (kernel, count, microseconds) of what took most of its time."""


def measure(intervals: Sequence[Interval]) -> Overlap:
    """Sums over one device's intervals."""
    transfers = _busy(interval for interval in intervals if interval.is_transfer)
    others = _busy(interval for interval in intervals if not interval.is_transfer)
    either = _busy(intervals)
    whole = max((i.end for i in intervals), default=0.0) - min((i.start for i in intervals), default=0.0)
    return Overlap(
        transfers=transfers / 1e3,
        beside_compute=(transfers + others - either) / 1e3,
        whole=whole / 1e3,
        streams=_streams(intervals),
    )


def share_together(devices: Iterable[Sequence[Interval]]) -> float:
    """Gives the share of the time with collectives on any device in which at least two different ones ran.

    It is taken over all devices together, since a copy from device to device shows on one of the two only.
    """
    by_op: dict[str, list[Interval]] = collections.defaultdict(list)
    for interval in (interval for device in devices for interval in device if interval.is_transfer):
        by_op[interval.op].append(interval)
    spans = [span for intervals in by_op.values() for span in _spans(intervals)]
    any_time, two = _time_with(spans, 1), _time_with(spans, 2)
    return two / any_time if any_time else 0.0


def read_trace(folder: pathlib.Path) -> dict[str, list[Interval]]:
    """Reads device -> what ran on its streams, from the newest profile in `folder`; {} where no GPU was traced."""
    from jax.profiler import ProfileData

    files = sorted(folder.rglob("*.xplane.pb"))
    return of_planes(ProfileData.from_file(str(files[-1])).planes) if files else {}


def of_planes(planes: Iterable[Any]) -> dict[str, list[Interval]]:
    """Gives the intervals of each GPU's planes; of its lines only the streams, since others repeat them by XLA op."""
    found: dict[str, list[Interval]] = {}
    for plane in planes:
        if not plane.name.startswith("/device:GPU"):
            continue
        found[plane.name] = [
            Interval(event.start_ns, event.start_ns + event.duration_ns, line.name, event.name, _op(event))
            for line in plane.lines
            if line.name.startswith("Stream")
            for event in line.events
            if event.duration_ns > 0
        ]
    return found


def _op(event: Any) -> str:
    return next((str(value) for name, value in event.stats if name == "hlo_op"), "")


def _spans(intervals: Iterable[Interval]) -> list[tuple[float, float]]:
    """Gives the times in which at least one of the intervals ran, as (start, end) that do not touch."""
    spans: list[tuple[float, float]] = []
    for interval in sorted(intervals, key=lambda each: each.start):
        if spans and interval.start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], interval.end)
        else:
            spans.append((interval.start, interval.end))
    return spans


def _busy(intervals: Iterable[Interval]) -> float:
    return sum(end - start for start, end in _spans(intervals))


def _time_with(spans: Sequence[tuple[float, float]], least: int) -> float:
    """Counts the nanoseconds in which at least `least` of the spans ran."""
    edges = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
    total, running, before = 0.0, 0, 0.0
    for at, change in edges:
        if running >= least:
            total += at - before
        running += change
        before = at
    return total


def _streams(intervals: Iterable[Interval]) -> dict[str, list[tuple[str, int, float]]]:
    kernels: dict[str, dict[str, list[float]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for interval in intervals:
        kernels[interval.stream][interval.name[:60]].append((interval.end - interval.start) / 1e3)
    return {
        stream: sorted(((name, len(took), sum(took)) for name, took in kernels[stream].items()), key=lambda k: -k[2])[
            :_KINDS_SHOWN
        ]
        for stream in sorted(kernels)
    }
