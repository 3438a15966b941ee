"""Which values can differ between the devices because they come from the device's own id."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import INLINED_REGIONS, STEPS, terminator

_IDS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})
# What makes values of many devices one; with one group it is the same on all.
_UNITING = frozenset({"stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.collective_broadcast"})


class Divergence:
    """Follows ids through ops, regions and calls. What a region makes of an id counts for all of its results."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._values: set[ir.Value] = set()
        self._results: dict[str, set[int]] = {}  # function -> which of its results differ
        self._size = -1
        while self._size != len(self._values) + sum(map(len, self._results.values())):  # until nothing is new
            self._size = len(self._values) + sum(map(len, self._results.values()))
            for name, function in symbols.functions.items():
                for region in function.regions:
                    for block in region:
                        self._block(block, name)

    def differs(self, value: ir.Value) -> bool:
        """Whether devices may see different values here."""
        return value in self._values

    def _block(self, block: ir.Block, function: str) -> bool:
        """Follows a block; True if its terminator hands on something that differs."""
        handed_on = False
        for view in block.operations:
            op = view.operation
            differing = [number for number, operand in enumerate(op.operands) if operand in self._values]
            if op.name == "func.return":
                self._results.setdefault(function, set()).update(differing)
            elif (callee := self._symbols.callee(op)) in self._symbols.functions and callee is not None:
                arguments = self._arguments(callee)
                self._values.update(arguments[number] for number in differing if number < len(arguments))
                self._mark(op, self._results.get(callee, set()))
            elif op.name in INLINED_REGIONS:
                inner = op.regions[0].blocks[0]
                self._values.update(inner.arguments[number] for number in differing)
                self._block(inner, function)
                given = terminator(inner).operands
                self._mark(op, {n for n, operand in enumerate(given) if operand in self._values})
            elif op.name in _IDS or differing or op.regions:
                self._op(op, function, op.name in _IDS or bool(differing))
            handed_on = bool(differing)
        return handed_on

    def _op(self, op: ir.Operation, function: str, differs: bool) -> None:
        if op.name in _UNITING and len(_groups(op)) == 1:
            return
        if op.name in STEPS:
            differs = differs or any(result in self._values for result in op.results)  # a loop hands them back in
            for region in op.regions:
                for block in region:
                    if differs:
                        self._values.update(block.arguments)
                    differs = self._block(block, function) or differs
        if differs:
            self._values.update(op.results)

    def _mark(self, op: ir.Operation, numbers: set[int]) -> None:
        self._values.update(result for number, result in enumerate(op.results) if number in numbers)

    def _arguments(self, function: str) -> list[ir.Value]:
        blocks = self._symbols.functions[function].regions[0].blocks
        return list(blocks[0].arguments) if len(blocks) else []


def _groups(op: ir.Operation) -> list[int]:
    """One entry a group."""
    shape = ir.RankedTensorType(op.attributes["replica_groups"].type).shape
    return [0] * max(1, shape[0])
