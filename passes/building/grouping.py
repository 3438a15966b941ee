"""Makes one launch of several collectives: a private function that XLA:GPU runs as one group."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from hloverlap.passes.building import outlining
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import GROUP, INLINEABLE
from hloverlap.passes.mlir.symbols import Symbols


def group(members: Sequence[ir.Operation], symbols: Symbols, whole: bool) -> ir.Operation:
    """Moves permutes into a new private function and puts one call where the last of them stood; gives the call.

    They must stand side by side, and no member may use another's result. Each keeps its attributes and location.
    whole: XLA is told to keep the call whole; backends without groups run its permutes in turn.
    """
    last = members[-1]
    location = ir.Location.fused([member.location for member in members], context=last.context)
    copies: list[ir.Operation] = []

    def build(arguments: Sequence[ir.Value]) -> list[ir.Value]:
        for member, argument in zip(members, arguments, strict=True):
            copies.append(member.clone())
            copies[-1].operands[0] = argument
        return [copy.results[0] for copy in copies]

    call = outlining.call(
        "collectives_group", [member.operands[0] for member in members], build, symbols, last, location
    )
    for member, value in zip(members, call.results, strict=True):
        member.results[0].replace_all_uses_with(value)
        member.erase()
    frontend_attributes.update(call, {GROUP: "", INLINEABLE: "false" if whole else None})
    return call
