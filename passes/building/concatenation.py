"""Builds one permute, of packed data, in the place of several with the same pairs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.building import outlining
from hloverlap.passes.building.packing import Layout, pack
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import INLINEABLE
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import TERMINATORS

# What XLA makes no loop of.
_FREE = frozenset({"stablehlo.reshape", "stablehlo.optimization_barrier", "sdy.sharding_constraint"})


def concatenate(members: Sequence[ir.Operation], symbols: Symbols, row: int) -> ir.Operation:
    """Puts one permute of the packed operands where the last member stood; gives it.

    row: where at least so many values only leave the block, functions of so many results unpack them, which XLA is told
    to keep; 0 where that is of no use (see `Target.row`). XLA joins the unpacking of the others with what uses them.
    """
    first, last = members[0], members[-1]
    layout = Layout([member.results[0].type for member in members])
    location = ir.Location.fused([member.location for member in members], context=last.context)
    rows = _rows(members, row)
    in_rows = {number for numbers in rows for number in numbers}
    others = [number for number in range(len(members)) if number not in in_rows]
    with location, ir.InsertionPoint(last):
        merged = stablehlo.CollectivePermuteOp(
            pack([member.operands[0] for member in members]),
            first.attributes["source_target_pairs"],
            channel_handle=first.attributes.get("channel_handle", None),
        ).operation
        for name in frontend_attributes.names(first):
            if name not in merged.attributes:
                merged.attributes[name] = first.attributes[name]
        values = dict(zip(others, layout.unpack(merged.results[0], others), strict=True))
        for numbers in rows:
            build = functools.partial(_unpack, layout=layout, numbers=numbers)
            call = outlining.call("unpack", merged.results, build, symbols, last, location)
            frontend_attributes.update(call, {INLINEABLE: "false"})
            values.update(zip(numbers, call.results, strict=True))
    for number, member in enumerate(members):
        member.results[0].replace_all_uses_with(values[number])
        member.erase()
    return merged


def _unpack(packed: Sequence[ir.Value], layout: Layout, numbers: Sequence[int]) -> list[ir.Value]:
    return layout.unpack(packed[0], numbers)


def _rows(members: Sequence[ir.Operation], row: int) -> list[list[int]]:
    """Lists the numbers of the members whose results only leave the block, so many a row."""
    leaving = [number for number, member in enumerate(members) if row and _leaves(member.results[0])]
    return [leaving[start : start + row] for start in range(0, len(leaving), row)] if len(leaving) >= row > 0 else []


def _leaves(value: ir.Value) -> bool:
    """Says whether a value only leaves its block: there is no loop that computes with it, to be unpacked in."""
    return all(
        use.owner.name in TERMINATORS or (use.owner.name in _FREE and all(map(_leaves, use.owner.results)))
        for use in value.uses
    )
