"""Tells beside which ops a matmul can run."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.analysis.dataflow import Instance
from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import FUNCTION, STEPS, free_values, ops_in

MATMULS = frozenset({"stablehlo.convolution", "stablehlo.dot_general"})


class MatmulsBeside:
    """Looks once at each block, with a look at each op, and then answers from what it saw."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        functions = symbols.functions.items()
        self._holding = symbols.leading_to(name for name, function in functions if ops_in(function, *MATMULS))
        self._beside: dict[ir.Block, frozenset[ir.Operation]] = {}

    def has_one(self, op: ir.Operation, instance: Instance) -> bool:
        """Says whether a matmul neither waits for `op`, on this execution path, nor is waited for by it.

        The op must be a collective. Matmuls outside of the loop or the conditional that holds it do not run meanwhile.
        """
        inner: ir.Operation | None = op
        path: Instance | None = instance
        while inner is not None and path is not None:
            if inner in self._in_block(inner.block):
                return True
            outer = inner.parent
            if outer is None or outer.name in STEPS:
                return False
            if outer.name == FUNCTION:
                inner, path = path.op, path.parent
            else:
                inner = outer
        return False

    def _in_block(self, block: ir.Block) -> frozenset[ir.Operation]:
        if block not in self._beside:
            self._beside[block] = self._look(block)
        return self._beside[block]

    def _look(self, block: ir.Block) -> frozenset[ir.Operation]:
        """Finds the ops of a block that are, or may hold, a collective, and beside which a matmul can run.

        Each of these and each matmul has a bit; a value's mask tells which of them it needs.
        """
        masks: dict[ir.Value, int] = {}
        seen: list[tuple[ir.Operation, int]] = []  # with the mask of what the op needs; its number is its bit
        matmuls = 0
        found = set()
        for view in block.operations:
            op = view.operation
            mask = 0
            for value in (*op.operands, *free_values(op)):
                mask |= masks.get(value, 0)
            is_matmul, is_holder = self._holds_matmul(op), self._may_hold_collective(op)
            if is_holder and matmuls & ~mask:
                found.add(op)
            bit = 0
            if is_matmul or is_holder:
                bit = 1 << len(seen)
                seen.append((op, mask))
            matmuls |= bit if is_matmul else 0
            masks.update((result, mask | bit) for result in op.results)
        needed_by_all_after = -1  # the mask of what every matmul from here on needs
        for number in reversed(range(len(seen))):
            op, mask = seen[number]
            if self._may_hold_collective(op) and not needed_by_all_after >> number & 1:
                found.add(op)
            if matmuls >> number & 1:
                needed_by_all_after &= mask
        return frozenset(found)

    def _holds_matmul(self, op: ir.Operation) -> bool:
        if op.name in MATMULS or self._symbols.callee(op) in self._holding:
            return True
        inner = ops_in(op, *MATMULS, *CALLS) if len(op.regions) else []
        return any(each.name in MATMULS or self._symbols.callee(each) in self._holding for each in inner)

    @staticmethod
    def _may_hold_collective(op: ir.Operation) -> bool:
        return op.name in KINDS or op.name in CALLS or (len(op.regions) > 0 and op.name not in STEPS)
