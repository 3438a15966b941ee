"""Finds which collectives can be in flight together, with a bounded number of lanes.

A lane is a queue: its members run one after the other, as on a CUDA stream. Every value carries a clock, a tuple with
one number a lane: the last position on that lane that the value depends on. A collective whose clock has not reached
the tail of a lane can be in flight with what is there. So each collective costs one look at each lane, and no two
collectives are ever compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from jaxlib.mlir import ir

from hloverlap.passes.analysis import async_pairs, combiner
from hloverlap.passes.analysis.collectives import PERMUTE, Collective, is_group_call
from hloverlap.passes.analysis.dataflow import Dataflow, Instance, ProgramPoint
from hloverlap.passes.analysis.xla_streams import DEFAULT_STREAM, chosen_stream, is_domain
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in

Clock = tuple[int, ...]

_LATEST = Capabilities()

DEFAULT_LANE = DEFAULT_STREAM  # groups, starts that are custom calls, and whatever carries no annotation
_MOST_USER_LANES = 32  # a module that names more streams has the rest share one lane


@dataclasses.dataclass(frozen=True, eq=False)
class Member:
    """One execution path of one op."""

    op: ir.Operation
    instance: Instance
    position: int
    """Its number on its unit's lane, from 1."""


class Concurrent(NamedTuple):
    """The positions `after` < p <= `upto` on another lane can be in flight with a unit; `tail` has the last of them."""

    lane: int
    after: int
    upto: int
    tail: Unit


@dataclasses.dataclass(eq=False)
class Unit:
    """Collectives that XLA runs as one: a single one, or independent permutes with the same pairs in the same step."""

    lane: int
    """The queue that it is in."""
    chosen: str | None
    """What the user put it on a stream by, in words; None where that is left to us."""
    fixed: bool
    """XLA keeps it on its stream 0, whatever it carries: a group call, or what is written as a start and a done."""
    bytes: int = 0
    members: list[Member] = dataclasses.field(default_factory=list)
    overlaps_with: ir.Operation | None = None
    """An op that can be in flight with it, None if there is none."""
    concurrent: list[Concurrent] = dataclasses.field(default_factory=list)
    """What comes before it on other lanes and can be in flight with it."""
    queued_behind: Unit | None = None
    """The unit before it on its lane where that is independent: it has the same pairs, or there are no more lanes."""
    joins_annotated: bool = False
    """XLA would join it with a permute that carries an annotation of the user's."""


@dataclasses.dataclass(frozen=True)
class Lanes:
    """Holds the collectives of a module by the queues that they are in."""

    units: tuple[Unit, ...]
    """In order of their first member."""
    roots: tuple[Instance, ...]
    """The execution paths."""
    unfollowed: frozenset[str]
    """Functions whose every call could not be looked at, since there are too many paths to them."""


def place(
    symbols: Symbols,
    max_lanes: int,
    own: Iterable[ir.Operation],
    kinds: frozenset[str],
    capabilities: Capabilities = _LATEST,
) -> Lanes:
    """Puts each collective of `kinds`, each group call, and each start that is a custom call, in a lane.

    Chains of dependent collectives share one of `max_lanes` lanes, and so do permutes with the same pairs; other
    independent ones get different lanes while there are any. Lane 0 is XLA's default stream, which groups and starts
    cannot leave; the user's own streams have lanes of their own after it. `own`: annotated ops whose annotation is not
    the user's.
    """
    placer = _Placer(symbols, max_lanes, frozenset(own), kinds, capabilities)
    roots = placer.flow.run()
    return Lanes(tuple(placer.units), tuple(roots), placer.flow.unfollowed())


class _Placer:
    def __init__(
        self,
        symbols: Symbols,
        max_lanes: int,
        own: frozenset[ir.Operation],
        kinds: frozenset[str],
        capabilities: Capabilities,
    ) -> None:
        self._facts: dict[ir.Operation, Collective] = {}
        self._capabilities = capabilities
        self._user_lanes: dict[int | None, int] = {DEFAULT_STREAM: DEFAULT_LANE}  # stream -> lane
        self._read(symbols, own, kinds)
        fixed = 1 + max(self._user_lanes.values())
        self._free = range(fixed, fixed + max_lanes)
        self._queues: list[list[tuple[Member, Unit]]] = [[] for _ in range(fixed + max_lanes)]
        self._bytes = [0] * len(self._queues)
        self._alone: list[list[tuple[Member, Unit]]] = [
            [] for _ in self._queues
        ]  # nothing overlaps with these yet, by position
        self._joined: dict[tuple[Clock, Clock], Clock] = {}
        self._combinable: dict[Hashable, Unit] = {}
        self._alike: dict[tuple[object, ...], Unit] = {}
        self._combinable_user: dict[Hashable, Unit] = {}
        self.units: list[Unit] = []
        self.flow: Dataflow[Clock] = Dataflow(symbols, (0,) * len(self._queues), self._join, self._transfer)

    def _read(self, symbols: Symbols, own: frozenset[ir.Operation], kinds: frozenset[str]) -> None:
        for op in (op for function in symbols.functions.values() for op in ops_in(function, *kinds)):
            fact = Collective.of(op)
            if op in own:
                fact = dataclasses.replace(fact, stream=None, combiner_key="")
            self._facts[op] = fact
            if self._chosen(fact) and (stream := chosen_stream(fact, self._capabilities)) not in self._user_lanes:
                self._user_lanes[stream] = min(len(self._user_lanes), 1 + _MOST_USER_LANES)

    @staticmethod
    def _chosen(fact: Collective) -> str | None:
        """Gives what the user put a collective on a stream by, in words; None where that is left to us."""
        if fact.stream is not None:
            return f"stream annotation '{fact.stream}'"
        return f"communication domain '{fact.domain}'" if is_domain(fact.domain) else None

    def _join(self, a: Clock, b: Clock) -> Clock:
        if a is b:
            return a
        if (joined := self._joined.get((a, b))) is None:
            joined = self._joined[a, b] = tuple(map(max, a, b))
        return joined

    def _transfer(self, op: ir.Operation, clock: Clock, place: ProgramPoint) -> Clock:
        fact = self._facts.get(op)
        if fact is None and not is_group_call(op) and async_pairs.started_kind(op) is None:
            return clock
        unit = self._unit(fact, clock, place)
        member = Member(op, place.instance, len(self._queues[unit.lane]) + 1)
        unit.members.append(member)
        self._queues[unit.lane].append((member, unit))
        if fact is not None:
            unit.bytes += fact.bytes
            self._bytes[unit.lane] += fact.bytes
        self._find_concurrent(member, unit, clock)
        return (*clock[: unit.lane], member.position, *clock[unit.lane + 1 :])

    def _unit(self, fact: Collective | None, clock: Clock, place: ProgramPoint) -> Unit:
        """Gives the open unit that XLA would join this one to, else a new one in the best lane."""
        if fact is None:
            unit = Unit(DEFAULT_LANE, None, fixed=True, queued_behind=self._passed(DEFAULT_LANE, clock))
        elif fact.op.name != PERMUTE:
            unit = self._new_unit(fact, clock)
        else:
            key = combiner.kind(fact, place.step)
            of_user = self._chosen(fact) is not None
            mate = self._combinable.get(key)
            user_mate = self._combinable_user.get(key)
            if mate is not None and clock[mate.lane] >= mate.members[0].position:
                mate = None
            if mate is not None and not of_user and combiner.fits(mate.bytes, fact.bytes):
                return mate
            alike = (place.step, fact.mode, fact.canonical_pairs)
            unit = self._new_unit(fact, clock, self._alike.get(alike))
            if of_user:
                self._combinable_user[key] = unit
                if mate is not None:
                    mate.joins_annotated = True
            else:
                self._combinable[key] = self._alike[alike] = unit
                if user_mate is not None and clock[user_mate.lane] < user_mate.members[0].position:
                    unit.joins_annotated = True
        self.units.append(unit)
        return unit

    def _new_unit(self, fact: Collective, clock: Clock, alike: Unit | None = None) -> Unit:
        """Makes a unit in the lane that fits best.

        alike: the last one with the same pairs: it uses the same links, so that the two would only get in each other's
        way on lanes of their own.
        """
        if (chosen := self._chosen(fact)) is not None:
            lane = self._user_lanes[chosen_stream(fact, self._capabilities)]
            return Unit(lane, chosen, fixed=False, queued_behind=self._passed(lane, clock))
        last = self._passed(alike.lane, clock) if alike is not None else None
        if last is not None and last is alike and clock[last.lane] < last.members[0].position:
            return Unit(last.lane, None, fixed=False, queued_behind=last)
        following = [lane for lane in self._free if 0 < len(self._queues[lane]) == clock[lane]]
        unused = [lane for lane in self._free if not self._queues[lane]]
        if lanes := following or unused:
            return Unit(lanes[0], None, fixed=False)
        lane = min(self._free, key=self._bytes.__getitem__)
        return Unit(lane, None, fixed=False, queued_behind=self._passed(lane, clock))

    def _passed(self, lane: int, clock: Clock) -> Unit | None:
        """Gives the last unit on a lane, if a collective with this clock would not wait for it."""
        queue = self._queues[lane]
        return queue[-1][1] if clock[lane] < len(queue) else None

    def _find_concurrent(self, member: Member, unit: Unit, clock: Clock) -> None:
        """Notes what is on other lanes and not waited for: it can be in flight with this member."""
        found = [
            Concurrent(lane, clock[lane], len(queue), queue[-1][1])
            for lane, queue in enumerate(self._queues)
            if lane != unit.lane and clock[lane] < len(queue)
        ]
        unit.concurrent += found
        for lane, after, _, tail in found:
            unit.overlaps_with = unit.overlaps_with or tail.members[-1].op
            alone = self._alone[lane]
            while alone and alone[-1][0].position > after:  # each is taken off once, so this is linear in all
                other = alone.pop()[1]
                other.overlaps_with = other.overlaps_with or member.op
        if unit.overlaps_with is None:
            self._alone[unit.lane].append((member, unit))
