"""Does before a permute what makes its data smaller after it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE
from hloverlap.passes.analysis.permutes import segments_with_permutes
from hloverlap.passes.analysis.segments import Segment
from hloverlap.passes.base import Pass, option
from hloverlap.passes.building.device_select import can_be_zero
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import bits_of, bytes_of, element_of, has_static_shape
from hloverlap.passes.mlir.walk import definition

_CONVERT = "stablehlo.convert"

# What each of these ops holds besides its operand. Whatever else an op carries is somebody's word about its place.
_OWN_ATTRIBUTES = {
    "stablehlo.slice": {"start_indices", "limit_indices", "strides"},
    "stablehlo.reshape": set(),
    "stablehlo.transpose": {"permutation"},
    _CONVERT: set(),
}


@dataclasses.dataclass(frozen=True)
class HoistPermutes(Pass):
    """Does a slice, and a convert to a narrower type, before the data is sent.

    The reshapes and transposes on the way to it are done before, too. Zeros stay zeros in all of them, so devices that
    nothing is sent to have the same as before. A convert that is nearer to the ops before the permute may be computed
    more exactly with them, where XLA allows itself excess precision; `converts=false` leaves all of them.
    """

    name = "hoist-permutes"
    summary = "Does a slice, or a convert to a narrower type, before the permute instead of after it."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) … : (tensor<8x128xf32>) -> tensor<8x128xf32>
        %b = stablehlo.slice %a [0:1, 0:128]
        %c = stablehlo.convert %b : (tensor<1x128xf32>) -> tensor<1x128xbf16>
after:  %b = stablehlo.slice %x [0:1, 0:128]
        %c = stablehlo.convert %b : (tensor<1x128xf32>) -> tensor<1x128xbf16>
        %a = "stablehlo.collective_permute"(%c) … : (tensor<1x128xbf16>) -> tensor<1x128xbf16>"""
    statistics: ClassVar[dict[str, str]] = {
        "num-hoisted": "permutes that send less than before",
        "num-bytes": "bytes that a device sends less",
        "num-declined": "permutes whose data is made smaller after them, but that were left as they are",
    }
    remarks: ClassVar[dict[str, str]] = {
        "HSP001": "sends less: what keeps only part of the data is done before it",
        "HSP002": "not hoisted: its result is used in more than one place",
        "HSP003": "not hoisted: a barrier, a side effect or the edge of a region is in between",
        "HSP004": "not hoisted: XLA would join two converts, which can change the payload of a NaN",
        "HSP005": "not hoisted: it, or the op after it, carries an attribute of somebody else's",
        "HSP006": "not hoisted: the convert is not to be moved, or not every device can be sent its type",
    }

    converts: bool = option(True, "whether to do converts before the permute, too")

    def run(self, op: ir.Operation, context: Context) -> None:
        """Hoists what it can above each permute of the module that is in no group."""
        for segment in segments_with_permutes(Symbols(op), at_least=1):
            self._segment(segment, context)

    def _segment(self, segment: Segment, context: Context) -> None:
        here: set[ir.Value] = {result for op in segment.ops for result in op.results}
        for permute in [op for op in segment.ops if op.name == PERMUTE]:
            chain, declined = self._chain(permute, here)
            shorter = [number for number, op in enumerate(chain, 1) if _makes_smaller(op)]
            carried = stream_annotations.carried(permute)
            if shorter and not carried:
                _hoist(permute, chain[: shorter[-1]], context, self)
                continue
            if shorter:
                declined = Declined("HSP005", f"it carries the attribute {carried[0][0]}")
            if declined is not None:
                text = f"Not hoisted, though what comes after it makes it smaller: {declined.reason}."
                context.remark(declined.code, text, permute)
                self.count(context, "num-declined")

    def _chain(self, permute: ir.Operation, here: set[ir.Value]) -> tuple[list[ir.Operation], Declined | None]:
        """Lists the ops after a permute that could be before it; says why the next one that makes less could not."""
        value: ir.Value = permute.results[0]
        chain: list[ir.Operation] = []
        while True:
            users = [use.owner.operation for use in value.uses]
            declined = None
            if len(users) > 1:
                declined = Declined("HSP002", "it is used in more than one place")
            elif users and users[0].results and users[0].results[0] not in here:
                declined = Declined("HSP003", "a barrier, a side effect or the edge of a region is in between")
            elif users and (others := _foreign_attributes(users[0])):
                name = users[0].name.removeprefix("stablehlo.")
                declined = Declined("HSP005", f"the {name} carries the attribute {others[0]}")
            elif users and _makes_smaller(users[0]) and users[0].name == _CONVERT:
                declined = self._objection_to_convert(users[0], permute)
            if declined is not None:
                return chain, declined if all(map(_makes_smaller, users)) else None
            if not users or not _may_move(users[0]):
                return chain, None
            chain.append(users[0])
            value = users[0].results[0]

    def _objection_to_convert(self, convert: ir.Operation, permute: ir.Operation) -> Declined | None:
        types = [element_of(convert.operands[0].type), element_of(convert.results[0].type)]
        if not self.converts:
            return Declined("HSP006", "converts=false")
        if bits_of(types[1]) < 8 or not all(map(can_be_zero, types)):
            return Declined("HSP006", f"elements of type {types[1]} are no data that every device can be sent")
        if _is_converted(permute.operands[0]):
            # XLA would make one of the two, and that one keeps the payload of a NaN, which the two do not.
            return Declined("HSP004", "it was converted before, and XLA would join both converts to one")
        return None


def _hoist(permute: ir.Operation, chain: Sequence[ir.Operation], context: Context, options: HoistPermutes) -> None:
    last = chain[-1]
    before, after = bytes_of(permute.results[0].type), bytes_of(last.results[0].type)
    names = " and ".join(dict.fromkeys(op.name.removeprefix("stablehlo.") for op in chain))
    verb = "are" if " and " in names else "is"
    context.remark(
        "HSP001", f"Sends {after} bytes instead of {before}: the {names} after it {verb} done first.", permute
    )
    chain[0].operands[0] = permute.operands[0]
    for op in chain:
        op.move_before(permute)
    stream_annotations.strip_own(permute)
    with permute.location, ir.InsertionPoint(permute):
        smaller = stablehlo.CollectivePermuteOp(
            last.results[0],
            permute.attributes["source_target_pairs"],
            channel_handle=permute.attributes.get("channel_handle", None),
        ).operation
    last.results[0].replace_all_uses_except(smaller.results[0], [smaller])
    permute.erase()
    options.count(context, "num-hoisted")
    options.count(context, "num-bytes", before - after)


def _may_move(op: ir.Operation) -> bool:
    """Says whether an op moves data, or converts it to a narrower type."""
    if op.name not in _OWN_ATTRIBUTES or (op.name == _CONVERT and not _makes_smaller(op)):
        return False
    return has_static_shape(op.operands[0].type) and has_static_shape(op.results[0].type)


def _foreign_attributes(op: ir.Operation) -> list[str]:
    own = _OWN_ATTRIBUTES.get(op.name)
    return [] if own is None else [name for name in frontend_attributes.names(op) if name not in own]


def _makes_smaller(op: ir.Operation) -> bool:
    if op.name not in ("stablehlo.slice", _CONVERT):
        return False
    given, made = op.operands[0].type, op.results[0].type
    return has_static_shape(given) and has_static_shape(made) and bytes_of(made) < bytes_of(given)


def _is_converted(value: ir.Value) -> bool:
    """Says whether a value comes from a convert, moved at most."""
    while (op := definition(value)) is not None and op.name in _OWN_ATTRIBUTES:
        if op.name == _CONVERT:
            return True
        value = op.operands[0]
    return False
