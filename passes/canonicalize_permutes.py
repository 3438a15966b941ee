"""Gives equal permutes one form, so that other passes and XLA's combiner see that they are equal."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE, mode_of, pairs_of, set_pairs
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.modules import DeviceCounts, device_counts
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import blocks_with


@dataclasses.dataclass(frozen=True)
class CanonicalizePermutes(Pass):
    """Sorts pairs; removes permutes that move nothing; makes one of equal permutes of one value."""

    name = "canonicalize-permutes"
    summary = "Sorts the pairs of each permute, removes identity permutes, and shares equal ones."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[1, 0], [0, 1]] …}>
        %b = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 0]] …}>
        %c = stablehlo.add %a, %b
after:  %a = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 0]] …}>
        %c = stablehlo.add %a, %a"""
    statistics: ClassVar[dict[str, str]] = {
        "num-sorted": "permutes whose pairs were put in order",
        "num-identity": "permutes removed because every device sends to itself",
        "num-shared": "permutes removed because an equal one of the same value is there",
    }
    remarks: ClassVar[dict[str, str]] = {
        "CPE001": "put its source-target pairs in ascending order",
        "CPE002": "removed it: every device sends its value to itself",
        "CPE003": "removed it: an equal one of the same value is there before it",
        "CPE004": "kept it, though it sends nothing: devices that it does not name get zeros",
        "CPE005": "kept it, though it sends nothing: it carries an attribute of somebody else's",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        effects = Effects(Symbols(op))
        counts = device_counts(op)
        for block in blocks_with(op, PERMUTE):
            self._block(block, effects, counts, context)

    def _block(self, block: ir.Block, effects: Effects, counts: DeviceCounts, context: Context) -> None:
        seen: dict[tuple[object, ...], ir.Operation] = {}
        for op in [view.operation for view in block.operations]:  # a copy: ops are erased on the way
            if op.name != PERMUTE:
                if seen and effects.is_ordered(op):
                    seen.clear()  # nothing is shared across a token, a barrier or a side effect
                continue
            self._sort(op, context)
            if self._remove_identity(op, counts, context):
                continue
            key = (op.operands[0], mode_of(op), pairs_of(op), stream_annotations.carried(op))
            first = seen.setdefault(key, op)
            if first is not op:
                context.remark("CPE003", f"Removed: it sends the same value the same way as {describe(first)}.", op)
                op.results[0].replace_all_uses_with(first.results[0])
                op.erase()
                self.count(context, "num-shared")

    def _sort(self, op: ir.Operation, context: Context) -> None:
        pairs = pairs_of(op)
        ordered = sorted(pairs)
        if list(pairs) == ordered:
            return
        set_pairs(op, ordered)
        context.remark("CPE001", "Put the source-target pairs in ascending order; they move the same data.", op)
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
