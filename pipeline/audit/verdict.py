"""Sums up an audit, weighs the sums against each other, and holds budgets to them."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
from collections.abc import Sequence

from hloverlap.pipeline.audit.compiled import Outcome, Program
from hloverlap.pipeline.audit.launches import Launch, serialized_pairs

MEMORY_TOLERANCE = 0.01  # of peak memory: less is the noise of buffer alignment


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

    @property
    def lost(self) -> int:
        """Counts what the verdict weighs first: serialized pairs and exposed launches."""
        return self.serialized + self.exposed


METRICS = (*(field.name for field in dataclasses.fields(Totals)), "lost")


def totals(outcome: Outcome) -> Totals:
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
    )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Says how a second module compares with the first."""

    word: str
    """``better``, ``same`` or ``worse``."""
    reason: str
    """The first number that differs, in words."""


def judge(before: Totals, after: Totals) -> Verdict:
    """Compares by the first of these that differs, less being better.

    1. failed: a module that does not compile is worse than any that does;
    2. lost: independent pairs run in turn, plus launches that no compute hides;
    3. exposed bytes; 4. launches; 5. peak memory, by more than one percent.
    """
    if before.failed != after.failed:
        return Verdict(_word(before.failed, after.failed), "XLA compiles only one of the two")
    if before.lost != after.lost:
        return Verdict(
            _word(before.lost, after.lost),
            f"independent pairs run in turn {before.serialized} -> {after.serialized}, "
            f"launches that nothing hides {before.exposed} -> {after.exposed}",
        )
    if before.exposed_bytes != after.exposed_bytes:
        return Verdict(
            _word(before.exposed_bytes, after.exposed_bytes),
            f"bytes that nothing hides {before.exposed_bytes} -> {after.exposed_bytes}",
        )
    if before.launches != after.launches:
        return Verdict(_word(before.launches, after.launches), f"launches {before.launches} -> {after.launches}")
    if abs(after.peak_memory - before.peak_memory) > MEMORY_TOLERANCE * before.peak_memory:
        return Verdict(
            _word(before.peak_memory, after.peak_memory),
            f"peak memory {before.peak_memory} -> {after.peak_memory} bytes",
        )
    return Verdict("same", "no number that counts differs")


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


def _word(before: int, after: int) -> str:
    return "better" if after < before else "worse" if after > before else "same"
