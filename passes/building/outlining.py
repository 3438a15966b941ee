"""Moves ops to a private function of their own, which is called where they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import function_of

Build = Callable[[Sequence[ir.Value]], Sequence[ir.Value]]


def call(
    name: str, inputs: Sequence[ir.Value], build: Build, symbols: Symbols, before: ir.Operation, location: ir.Location
) -> ir.Operation:
    """Puts a call before an op, of a new function with this name or one like it; gives the call.

    build: given the function's arguments in place of the inputs, puts its ops at the current insertion point and gives
    its results.
    """
    parent = function_of(before)
    assert parent is not None, "an op outside of functions"
    name = symbols.unused(name)
    types = [value.type for value in inputs]
    with location:
        with ir.InsertionPoint(parent):
            function = func.FuncOp(name, (types, []), visibility="private")
        function.operation.move_after(parent)
        symbols.functions[name] = function.operation
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            built = build(list(block.arguments))
            results = [value.type for value in built]
            func.ReturnOp(built)
        function.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, results))
        with ir.InsertionPoint(before):
            return func.CallOp(results, name, inputs).operation
