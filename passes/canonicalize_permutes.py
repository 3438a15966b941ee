"""Gives permutes that move the same data the same way one form, where XLA or a pass gains by it."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, mode_of, pairs_of, set_pairs
from hloverlap.passes.analysis.concurrency import place
from hloverlap.passes.analysis.cost import CostModel
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.replica_groups import GLOBAL, GROUPS, ReplicaGroups
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.meshes import MeshError
from hloverlap.passes.mlir.modules import DeviceCounts, device_counts
from hloverlap.passes.mlir.region_forms import region_form
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import blocks_with, ops_in

# Which devices take part is compared by itself. How a value lies in memory XLA decides itself: it shares collectives
# that differ in this, too.
_SPELLINGS = (GROUPS, GLOBAL, "result_layout", "xla_shape")

# Lanes tell what is independent; as many as this find it where a module has a few chains of permutes.
_LANES = 8


@dataclasses.dataclass(frozen=True)
class CanonicalizePermutes(Pass):
    """Removes permutes that move nothing; makes one of equal collectives of one value; puts pairs in one order.

    Collectives of every kind are shared, whatever their channel handles; XLA itself shares those of equal ones only.

    XLA's combiner joins independent permutes only if their pairs are equal in the same order. So pairs are put in order
    where that makes permutes equal which XLA then joins, and nowhere else: a permute that is alone keeps its own order.
    """

    name = "canonicalize-permutes"
    summary = "Removes identity permutes, shares equal collectives, and sorts pairs where XLA can then join permutes."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[1, 0], [0, 1]] …}>
        %b = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 0]] …}>
        %c = stablehlo.add %a, %b
after:  %a = "stablehlo.collective_permute"(%x) <{… [[1, 0], [0, 1]] …}>
        %c = stablehlo.add %a, %a"""
    statistics: ClassVar[dict[str, str]] = {
        "num-sorted": "permutes whose pairs were put in order for XLA to join them",
        "num-identity": "permutes removed because every device sends to itself",
        "num-shared": "collectives removed because an equal one of the same value is there",
    }
    remarks: ClassVar[dict[str, str]] = {
        "CPE001": "put its source-target pairs in ascending order, so that XLA joins it with others",
        "CPE002": "removed it: every device sends its value to itself",
        "CPE003": "removed it: an equal one of the same value is there before it",
        "CPE004": "kept it, though it sends nothing: devices that it does not name get zeros",
        "CPE005": "kept it, though it sends nothing: it carries an attribute of somebody else's",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Removes and shares in each block, then puts pairs in order where XLA joins equal ones."""
        effects = Effects(Symbols(op))
        counts = device_counts(op)
        groups = ReplicaGroups(op)
        for block in blocks_with(op, *KINDS):
            self._block(block, effects, counts, groups, context)
        if CostModel(context.target, context.topology).joins_equal_pairs:
            self._sort(op, context)

    def _block(
        self, block: ir.Block, effects: Effects, counts: DeviceCounts, groups: ReplicaGroups, context: Context
    ) -> None:
        seen: dict[tuple[object, ...], ir.Operation] = {}
        for op in [view.operation for view in block.operations]:  # a copy: ops are erased on the way
            if op.name not in KINDS:
                if seen and effects.is_ordered(op):
                    seen.clear()  # nothing is shared across a token, a barrier or a side effect
                continue
            if op.name == PERMUTE and self._remove_identity(op, counts, context):
                continue
            first = seen.setdefault(_transfer(op, groups, counts), op)
            if first is not op:
                context.remark("CPE003", f"Removed: it sends the same value the same way as {describe(first, op)}.", op)
                for result, same in zip(op.results, first.results, strict=True):
                    result.replace_all_uses_with(same)
                op.erase()
                self.count(context, "num-shared")

    def _sort(self, module: ir.Operation, context: Context) -> None:
        """Puts pairs in order where XLA then joins permutes that it would not join as they are."""
        alike: dict[tuple[object, ...], list[ir.Operation]] = {}
        for op in ops_in(module, PERMUTE):
            alike.setdefault(_ways(op), []).append(op)
        mixed = {ways: ops for ways, ops in alike.items() if len({pairs_of(op) for op in ops}) > 1}
        if not mixed:
            return
        written = [(op, pairs_of(op), ways) for ways, ops in mixed.items() for op in ops]
        for op, pairs, _ in written:
            set_pairs(op, sorted(pairs))
        order = {op: pairs for op, pairs, _ in written}
        joined = [[op for op in launch if op in order] for launch in _joined(module, context)]
        gaining = {_ways(launch[0]) for launch in joined if len({order[op] for op in launch}) > 1}
        for op, pairs, ways in written:
            if ways not in gaining:
                set_pairs(op, pairs)
            elif list(pairs) != sorted(pairs):
                text = "Put the source-target pairs in ascending order, so that XLA joins it with others like it."
                context.remark("CPE001", text, op)
                self.count(context, "num-sorted")

    def _remove_identity(self, op: ir.Operation, counts: DeviceCounts, context: Context) -> bool:
        pairs = pairs_of(op)
        if not pairs or any(source != target for source, target in pairs):
            return False
        # A device that no pair names gets zeros, so only a full set of pairs gives back what went in.
        size = counts.ids(mode_of(op))
        if len(pairs) != size:
            among = f"of {size}" if size else "of a number that the module does not give"
            text = f"Kept, though it sends nothing: it names {len(pairs)} devices {among}; the others get zeros."
            context.remark("CPE004", text, op)
            return False
        if carried := stream_annotations.carried(op):
            context.remark("CPE005", f"Kept, though it sends nothing: it carries the attribute {carried[0][0]}.", op)
            return False
        context.remark("CPE002", "Removed: every device sends its value to itself.", op)
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()
        self.count(context, "num-identity")
        return True


def _transfer(op: ir.Operation, groups: ReplicaGroups, counts: DeviceCounts) -> tuple[object, ...]:
    """Gives what is equal for collectives of which one does for all, whatever their channels and layouts."""
    carried = tuple(item for item in stream_annotations.carried(op) if item[0] not in _SPELLINGS)
    ways = _ways(op) if op.name == PERMUTE else _between(op, groups, counts)
    return op.name, tuple(op.operands), ways, carried, region_form(op)


def _between(op: ir.Operation, groups: ReplicaGroups, counts: DeviceCounts) -> object:
    """Gives the devices of each group, in whichever way the op names them.

    It gives the attribute where that names what is not there.
    """
    try:
        return tuple(sorted(groups.of(op, counts)))
    except MeshError:
        return str(op.attributes[GROUPS]), mode_of(op)


def _ways(op: ir.Operation) -> tuple[object, ...]:
    """Gives what is equal for permutes that send along the same ways."""
    return mode_of(op), tuple(sorted(pairs_of(op)))


def _joined(module: ir.Operation, context: Context) -> list[list[ir.Operation]]:
    """Gives the permutes that XLA makes one of, for each such launch."""
    own = stream_annotations.own_ops(module)
    lanes = place(Symbols(module), _LANES, own, frozenset({PERMUTE}), context.capabilities)
    return [[member.op for member in unit.members] for unit in lanes.units if len(unit.members) > 1]
