"""Finds which permutes of one block can become one transfer, and when each is ready."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Collection, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.mlir.symbols import CALL
from hloverlap.passes.mlir.walk import STEPS, TERMINATORS, free_values

# What takes long enough that a transfer should not be made to wait for it.
_HEAVY = (
    KINDS
    | STEPS
    | {
        "stablehlo.convolution",
        "stablehlo.custom_call",
        "stablehlo.dot_general",
        CALL,
    }
)


@dataclasses.dataclass(frozen=True)
class Segment:
    """Consecutive ops of a block that may be reordered: no token, barrier or side effect is among them."""

    ops: tuple[ir.Operation, ...]
    """The ops in block order."""
    needs: tuple[tuple[int, ...], ...]
    """For each op, the indices in `ops` of those it takes values from, also through regions."""
    preceding: ir.Operation | None
    """The op before them; None at the start of the block."""
    following: ir.Operation
    """The op after them."""

    @classmethod
    def of(cls, ops: Sequence[ir.Operation], preceding: ir.Operation | None, following: ir.Operation) -> Segment:
        """Makes the segment of these ops of one block."""
        producer: dict[ir.Value, int] = {}
        needs = []
        for number, op in enumerate(ops):
            used = {producer[value]: None for value in (*op.operands, *free_values(op)) if value in producer}
            needs.append(tuple(used))
            producer.update((result, number) for result in op.results)
        return cls(tuple(ops), tuple(needs), preceding, following)

    def again(self) -> Segment:
        """Gives what now stands between the same two ops, after a rewrite."""
        ops: list[ir.Operation] = []
        inside = self.preceding is None
        for view in self.following.block.operations:
            op = view.operation
            if op == self.following:
                break
            if inside:
                ops.append(op)
            inside = inside or op == self.preceding
        return Segment.of(ops, self.preceding, self.following)

    def levels(self, counted: Collection[int]) -> list[int]:
        """Counts, for each op, the most ops of `counted` (indices) on any way that leads to it, itself included.

        Two counted ops of one level never need each other, and making one op of some ops of one level never makes a
        cycle, however many levels are treated so.
        """
        levels: list[int] = []
        for number, needs in enumerate(self.needs):
            level = max((levels[need] for need in needs), default=0)
            levels.append(level + 1 if number in counted else level)
        return levels

    def heavy_levels(self) -> list[int]:
        """Counts, for each op, the most heavy ops (matmuls, loops, calls, collectives …) on one way to it."""
        levels: list[int] = []
        for needs in self.needs:
            waits = max((levels[need] + (self.ops[need].name in _HEAVY) for need in needs), default=0)
            levels.append(waits)
        return levels


def segments(
    block: ir.Block, effects: Effects, worthwhile: Callable[[ir.Operation], bool], at_least: int = 2
) -> list[Segment]:
    """Gives the segments of a block with at least so many worthwhile ops, in order."""
    found = []
    pending: list[ir.Operation] = []
    preceding = None
    for view in block.operations:
        op = view.operation
        if op.name in TERMINATORS or effects.is_ordered(op):
            if sum(map(worthwhile, pending)) >= at_least:
                found.append(Segment.of(pending, preceding, op))
            pending, preceding = [], op
        else:
            pending.append(op)
    return found


def reorder(segment: Segment, sets: Sequence[Sequence[int]]) -> None:
    """Moves ops of the segment so that each set's members (indices) stand side by side, where the last of them stood.

    Only what needs a member's result moves, and only behind the members. The sets must be legal (see `levels`).
    """
    members = [sorted(chosen) for chosen in sets]
    first, last = min(numbers[0] for numbers in members), max(numbers[-1] for numbers in members)
    set_of = {number: numbers for numbers in members for number in numbers}

    def node(number: int) -> int:  # a set is known by its last member
        return set_of[number][-1] if number in set_of else number

    waits = {node(number): 0 for number in range(first, last + 1)}
    users: dict[int, list[int]] = {number: [] for number in waits}
    for number in range(first, last + 1):
        for need in segment.needs[number]:
            if need >= first:
                users[node(need)].append(node(number))
                waits[node(number)] += 1
    ready = [number for number, count in waits.items() if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order += set_of.get(number, [number])
        for user in users[number]:
            waits[user] -= 1
            if not waits[user]:
                heapq.heappush(ready, user)
    assert len(order) == last + 1 - first, "the sets make a cycle"
    anchor = segment.ops[last + 1] if last + 1 < len(segment.ops) else segment.following
    if order != list(range(first, last + 1)):
        for number in order:
            segment.ops[number].move_before(anchor)
