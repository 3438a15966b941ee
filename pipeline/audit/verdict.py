"""Sums up an audit, weighs the sums against each other, and holds budgets to them."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Sequence

from hloverlap.pipeline.audit.compiled import Outcome, Program
from hloverlap.pipeline.audit.launches import Launch, serialized_pairs
from hloverlap.pipeline.prediction import comparing
from hloverlap.pipeline.prediction.prediction import Prediction

MEMORY_SHARE = 0.05  # of peak memory: more is worth a warning
MEMORY_BYTES = 16 << 20  # and so much at least: of a GPU's memory less is nothing


@dataclasses.dataclass(frozen=True)
class Totals:
    """Sums over a module's launches, each counted once however often it runs."""

    failed: int = 0
    """1 when XLA made no program, then all else is 0."""
    collectives: int = 0
    """Transfers, the members of combined and grouped launches counted singly."""
    launches: int = 0
    """What XLA starts."""
    serialized: int = 0
    """Pairs of independent launches that run one after the other though both could be in flight."""
    in_flight: int = 0
    """Pairs in flight together: launches on different streams, and members of one group."""
    synchronous: int = 0
    """Collectives that hold the main stream."""
    exposed: int = 0
    """Launches that no compute hides, the synchronous ones included."""
    streams: int = 0
    """Communication streams."""
    groups: int = 0
    """Grouped launches."""
    bytes: int = 0
    """Bytes of results that a device receives."""
    exposed_bytes: int = 0
    """The bytes of the exposed ones."""
    hidden_flops: int = 0
    """Floating point operations between starts and dones."""
    hidden_bytes: int = 0
    """Bytes that compute reads and writes between starts and dones."""
    peak_memory: int = 0
    """Bytes that a device needs, 0 when XLA does not say."""
    time: int = 0
    """Predicted, in microseconds of one run."""

    @property
    def lost(self) -> int:
        """Counts what the verdict weighs first: serialized pairs and exposed launches."""
        return self.serialized + self.exposed


METRICS = (*(field.name for field in dataclasses.fields(Totals)), "lost")


def totals(outcome: Outcome, prediction: Prediction | None = None) -> Totals:
    """Sums up one compile."""
    if not isinstance(outcome, Program):
        return Totals(failed=1)
    launches = outcome.launches
    exposed = [launch for launch in launches if not launch.hidden]
    return Totals(
        collectives=_members(launches),
        launches=len(launches),
        serialized=len(serialized_pairs(launches)),
        in_flight=sum(len(launch.beside) for launch in launches) // 2
        + sum(math.comb(launch.members, 2) for launch in launches if launch.group),
        synchronous=_members([launch for launch in launches if launch.synchronous]),
        exposed=len(exposed),
        streams=len({launch.stream for launch in launches if not launch.synchronous}),
        groups=sum(launch.group for launch in launches),
        bytes=sum(launch.bytes for launch in launches),
        exposed_bytes=sum(launch.bytes for launch in exposed),
        hidden_flops=sum(launch.flops for launch in launches),
        hidden_bytes=sum(launch.moved for launch in launches),
        peak_memory=outcome.peak_memory or 0,
        time=round(prediction.time) if prediction else 0,
    )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Says how a second module compares with the first."""

    word: str
    """``better``, ``same``, ``worse``, or ``unknown`` where XLA compiles neither."""
    reason: str
    """A sentence that says why."""
    warning: str = ""
    """What the second module needs more of, which does not decide; "" when that is not worth saying."""


def judge(before: Prediction | None, after: Prediction | None, spread: float | None) -> Verdict:
    """Compares by predicted time; None is a module of which XLA makes no program.

    spread: how far the prediction may be off on this machine, as `comparing.compare` takes it.
    """
    if before is None and after is None:
        return Verdict("unknown", "XLA compiles neither of the two")
    if before is None or after is None:
        return Verdict("better" if before is None else "worse", "XLA compiles only one of the two")
    return Verdict(*comparing.compare(before, after, spread))


def memory_warning(before: Totals, after: Totals) -> str:
    """Says that the second module needs more memory, where it is more than `MEMORY_SHARE` and `MEMORY_BYTES` more."""
    more = after.peak_memory - before.peak_memory
    if not before.peak_memory or not after.peak_memory or more <= max(MEMORY_SHARE * before.peak_memory, MEMORY_BYTES):
        return ""
    return f"peak memory {before.peak_memory} -> {after.peak_memory} bytes, {more / before.peak_memory:.0%} more"


@dataclasses.dataclass(frozen=True)
class Budget:
    """Holds ``METRIC OP NUMBER`` that must not be so, e.g. ``serialized>0``."""

    metric: str
    comparison: str
    bound: int

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Reads a budget. Raises ValueError with a sentence for the user."""
        match = re.fullmatch(r"\s*([\w-]+)\s*(>=|<=|==|!=|>|<)\s*(\d+)\s*", text)
        if match is None:
            raise ValueError(f"budget '{text}' is not like serialized>0")
        metric = match[1].replace("-", "_")
        if metric not in METRICS:
            raise ValueError(f"budget '{text}' names no metric; there are {', '.join(METRICS)}")
        return cls(metric, match[2], int(match[3]))

    def broken_by(self, found: Totals) -> str:
        """Gives a sentence when the totals are over the budget, else ""."""
        value = getattr(found, self.metric)
        if _COMPARISONS[self.comparison](value, self.bound):
            return f"{self.metric} is {value}, and {self.metric}{self.comparison}{self.bound} is not allowed"
        return ""


_COMPARISONS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def _members(launches: Sequence[Launch]) -> int:
    return sum(launch.members for launch in launches)
