"""Makes one permute of a permute of a permute."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE, mode_of, pairs_of, set_pairs
from hloverlap.passes.analysis.permutes import compose, segments_with_permutes
from hloverlap.passes.analysis.segments import Segment
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols


@dataclasses.dataclass(frozen=True)
class ComposePermutes(Pass):
    """Has each permute of a permute's result take the data from where it first was, where nothing else uses it.

    One message instead of two, and never more data: a target that would have been sent zeros is sent nothing.
    """

    name = "compose-permutes"
    summary = "Makes one permute of a permute of a permute."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 2], [2, 3]] …}>
        %b = "stablehlo.collective_permute"(%a) <{… [[0, 1], [1, 2], [2, 3]] …}>
after:  %b = "stablehlo.collective_permute"(%x) <{… [[0, 2], [1, 3]] …}>"""
    statistics: ClassVar[dict[str, str]] = {
        "num-composed": "permutes that take their data from where another one took it",
        "num-removed": "permutes that are gone because nothing needs them any more",
    }
    remarks: ClassVar[dict[str, str]] = {
        "CMP001": "made one permute of it and the one whose result it sent on",
        "CMP002": "not composed: what the first brings is used elsewhere too",
        "CMP003": "not composed: a barrier, a side effect or the edge of a region is in between",
        "CMP004": "not composed: one is among partitions, the other among replicas",
        "CMP005": "not composed: one of them carries an attribute of somebody else's",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Composes permutes of permutes in each segment of the module."""
        for segment in segments_with_permutes(Symbols(op), at_least=1):
            self._segment(segment, context)

    def _segment(self, segment: Segment, context: Context) -> None:
        permutes = [op for op in segment.ops if op.name == PERMUTE]
        takers: dict[ir.Value, list[ir.Operation]] = {}
        for permute in permutes:
            takers.setdefault(permute.operands[0], []).append(permute)
        for inner in permutes:
            outers = takers.get(inner.results[0], [])
            if declined := self._objection(inner, outers):
                context.remark(
                    declined.code, f"Not joined to the next permute of its result: {declined.reason}.", inner
                )
            elif outers:
                for outer in outers:
                    self._compose(inner, outer, context)
                inner.erase()
                self.count(context, "num-removed")

    def _objection(self, inner: ir.Operation, outers: Sequence[ir.Operation]) -> Declined | None:
        """Says why a permute of which there are permutes is left; None if it can go. outers: those in its segment."""
        users = [use.owner.operation.name for use in inner.results[0].uses]
        if PERMUTE not in users:
            return None
        if any(user != PERMUTE for user in users):
            return Declined("CMP002", "the result is used elsewhere too")
        if len(outers) < len(users):
            return Declined("CMP003", "a barrier, a side effect or the edge of a region is in between")
        if any(mode_of(outer) != mode_of(inner) for outer in outers):
            return Declined("CMP004", "one is among partitions, the other among replicas")
        for op in (inner, *outers):
            if carried := stream_annotations.carried(op):
                return Declined("CMP005", f"one of them carries the attribute {carried[0][0]}")
        return None

    def _compose(self, inner: ir.Operation, outer: ir.Operation, context: Context) -> None:
        pairs = compose(pairs_of(inner), pairs_of(outer))
        context.remark(
            "CMP001",
            f"Made one with {describe(inner, outer)}, whose result it sent on: its pairs are now {_text(pairs)}.",
            outer,
        )
        stream_annotations.strip_own(outer)
        set_pairs(outer, pairs)
        outer.operands[0] = inner.operands[0]
        outer.location = ir.Location.fused([inner.location, outer.location], context=outer.context)
        self.count(context, "num-composed")


def _text(pairs: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"[{source}, {target}]" for source, target in pairs[:8])
    return f"{shown}{', …' * (len(pairs) > 8)}" or "none"
