"""Several collectives as one launch: a private function that XLA:GPU runs as one group."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from hloverlap.passes import frontend_attributes
from hloverlap.passes.analysis.symbols import Symbols
from hloverlap.passes.frontend_attributes import GROUP, INLINEABLE

_NAME = "collectives_group"


def outline(members: Sequence[ir.Operation], symbols: Symbols, whole: bool) -> ir.Operation:
    """Moves permutes into a new private function and puts one call where the last of them stood; gives the call.

    They must stand side by side, and no member may use another's result. Each keeps its attributes and location.
    whole: XLA is told to keep the call whole; backends without groups inline it all the same.
    """
    last = members[-1]
    parent = _function_of(last)
    location = ir.Location.fused([member.location for member in members], context=last.context)
    inputs = [member.operands[0].type for member in members]
    results = [member.results[0].type for member in members]
    name = symbols.unused(_NAME)
    with location:
        with ir.InsertionPoint(parent):
            function = func.FuncOp(name, (inputs, results), visibility="private")
        function.operation.move_after(parent)
        symbols.functions[name] = function.operation
        block = function.add_entry_block()
        with ir.InsertionPoint(last):
            call = func.CallOp(results, name, [member.operands[0] for member in members])
    for number, member in enumerate(members):
        member.results[0].replace_all_uses_with(call.operation.results[number])
        block.append(member)
        member.operands[0] = block.arguments[number]
    with location, ir.InsertionPoint(block):
        func.ReturnOp([member.results[0] for member in members])
    frontend_attributes.update(call.operation, {GROUP: "", INLINEABLE: "false" if whole else None})
    return call.operation


def _function_of(op: ir.Operation) -> ir.Operation:
    while op.name != "func.func":
        op = op.parent.operation
    return op
