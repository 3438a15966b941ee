"""Finds conditionals and loops in which devices part ways and then wait for each other (VCL012).

Only disagreement among the members of one group hangs, and XLA has all devices meet in a permute. What each device
decides is not known, only which ones are sure to decide alike: so all branches must have the same collectives, as far
as these are between devices that may part ways.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis.agreement import Agreement, parted
from hloverlap.passes.analysis.collectives import Collective, collectives_in, functions_with_collectives, is_collective
from hloverlap.passes.analysis.divergence import Divergence
from hloverlap.passes.analysis.loops import trip_count
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.analysis.required_devices import required_counts
from hloverlap.passes.context import Context
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.meshes import Group, MeshError
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import LOOP, STEPS, ops_in

_MOST_ITEMS = 10_000  # collectives of one branch, counted through calls


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at each conditional and loop with collectives in it."""
    holding = functions_with_collectives(symbols)
    if not any(_holds(op, holding, symbols) for op in ops_in(module, *STEPS)):
        return
    groups = ReplicaGroups(module)
    try:
        counts = required_counts(module, groups)
        if any(max(map(max, groups.of(op, counts)), default=0) >= counts.devices for op in collectives_in(module)):
            return  # XLA refuses it: VCL005
        decisions = Divergence(module, symbols, groups, counts).decisions()
    except MeshError:
        return  # the same
    sequences = _Sequences(symbols, groups, counts)
    for op, agreements in decisions:
        if text := next(filter(None, (_look(op, each, sequences) for each in agreements)), ""):
            context.remark("VCL012", text, op, "warning")


def _look(op: ir.Operation, agreement: Agreement, sequences: _Sequences) -> str:
    """Says in a sentence how devices that agree so wait for each other; "" if they do not."""
    branches = [list(_between_parted(sequences.of([region]), agreement)) for region in op.regions]
    if op.name == LOOP:
        inside = branches[0] + branches[1]
        if not inside:
            return ""
        one, other = inside[0].devices(agreement)
        return (
            f"A loop whose number of rounds can differ between devices {one} and {other}, which meet in "
            f"{describe(inside[0].op, op)}: the one that comes to it waits for ever for the one that does not."
        )
    different = next((number for number, each in enumerate(branches) if each != branches[0]), None)
    if different is None:
        return ""
    pairs = zip([*branches[0], None], [*branches[different], None], strict=False)
    first = next(here or there for here, there in pairs if here != there)
    assert first is not None
    one, other = first.devices(agreement)
    return (
        f"Devices {one} and {other} can take different branches, and branches 0 and {different} do not have the same "
        f"collectives: those that come to {describe(first.op, op)} wait for ever for those that do not."
    )


@dataclasses.dataclass(frozen=True)
class _Item:
    """A collective in a sequence, or a loop with some. Those who come to equal ones meet."""

    kind: str
    groups: tuple[Group, ...]
    pairs: tuple[Pair, ...]
    rounds: int | None
    """How often a loop turns, where it says so."""
    inside: tuple[_Item, ...]
    """What a loop holds."""
    op: ir.Operation = dataclasses.field(compare=False)

    def devices(self, agreement: Agreement) -> tuple[int, int]:
        """Gives two devices that meet in it and may part ways before."""
        found = parted(agreement, self.groups)
        return found or self.inside[0].devices(agreement)


def _between_parted(items: Iterable[_Item], agreement: Agreement) -> Iterator[_Item]:
    """Gives the items that are between devices which may part ways."""
    for item in items:
        inside = tuple(_between_parted(item.inside, agreement))
        if inside or parted(agreement, item.groups):
            yield dataclasses.replace(item, inside=inside)


class _Sequences:
    """Lists the collectives of a region or function in order, also in what it calls."""

    def __init__(self, symbols: Symbols, groups: ReplicaGroups, counts: DeviceCounts) -> None:
        self._symbols, self._groups, self._counts = symbols, groups, counts
        self._functions: dict[str, list[_Item]] = {}

    def of(self, regions: Iterable[ir.Region]) -> list[_Item]:
        found: list[_Item] = []
        for op in (view.operation for region in regions for block in region for view in block):
            if len(found) >= _MOST_ITEMS:
                break
            found += self._of_op(op)
        return found[:_MOST_ITEMS]

    def _of_op(self, op: ir.Operation) -> Sequence[_Item]:
        if is_collective(op):
            fact = Collective.of(op)
            return [_Item(fact.kind, self._groups.of(op, self._counts), fact.canonical_pairs, None, (), op)]
        if (callee := self._symbols.callee(op)) is not None:
            return self._of_function(callee)
        inside = self.of(op.regions) if len(op.regions) else []
        if op.name == LOOP and inside:
            return [_Item(op.name, (), (), trip_count(op), tuple(inside), op)]
        return inside

    def _of_function(self, name: str) -> list[_Item]:
        if name not in self._functions:
            self._functions[name] = []  # what a recursive function would find
            if name in self._symbols.functions:
                self._functions[name] = self.of(self._symbols.functions[name].regions)
        return self._functions[name]


def _holds(step: ir.Operation, holding: frozenset[str], symbols: Symbols) -> bool:
    """Says whether there are collectives in a loop or conditional."""
    return bool(collectives_in(step)) or any(symbols.callee(op) in holding for op in ops_in(step, *CALLS))
