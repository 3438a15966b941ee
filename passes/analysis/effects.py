"""Finds the ops that a rewrite must not move anything across.

It goes by names: MLIR's own answer, MemoryEffectsOpInterface.get_effects, is in the bindings of jaxlib 0.12 only.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis import async_pairs
from hloverlap.passes.analysis.async_pairs import CUSTOM_CALL
from hloverlap.passes.mlir import mhlo
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import is_token
from hloverlap.passes.mlir.walk import STEPS

_ORDERED = frozenset(
    {
        "stablehlo.after_all",
        "stablehlo.create_token",
        "stablehlo.infeed",
        "stablehlo.optimization_barrier",
        "stablehlo.outfeed",
        "stablehlo.recv",
        "stablehlo.rng",  # stateful: the n-th call gives the n-th number
        "stablehlo.send",
    }
)
# What can hold a token or run other ops. The other ops of StableHLO compute values from values, whatever their regions.
_HOLDERS = STEPS.union(
    {
        "stablehlo.composite",
        "stablehlo.get_tuple_element",
        "stablehlo.tuple",
    }
)
_KNOWN_DIALECTS = frozenset({"stablehlo", "chlo", "sdy", "func", "arith", "tensor", "shape"})


class Effects:
    """Answers, once per function, whether ops have an order that dataflow does not show."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._functions: dict[str, bool] = {}

    def is_ordered(self, op: ir.Operation) -> bool:
        """Says whether an op is or holds a token, a barrier, a side effect, or an op of a dialect that nobody knows."""
        name = op.name
        if name.startswith("stablehlo.") and name not in _ORDERED and name not in _HOLDERS and name != CUSTOM_CALL:
            return False
        if name in mhlo.PURE:
            return False
        if name in _ORDERED or name.partition(".")[0] not in _KNOWN_DIALECTS:
            return True
        if name == CUSTOM_CALL:
            if async_pairs.is_start_or_done(op):
                return True  # who writes the two apart says where the transfer begins and where it is waited for
            attributes = op.attributes
            if "has_side_effect" in attributes and attributes["has_side_effect"].value:
                return True
            return any(is_token(value.type) for value in (*op.operands, *op.results))
        callee = self._symbols.callee(op)
        if callee is not None:
            return self._function(callee)
        if any(is_token(result.type) for result in op.results):
            return True
        return any(self.is_ordered(inner.operation) for region in op.regions for block in region for inner in block)

    def _function(self, name: str) -> bool:
        if name not in self._functions:
            self._functions[name] = True  # what a recursive function would find
            function = self._symbols.functions.get(name)
            self._functions[name] = function is None or any(
                self.is_ordered(op.operation) for region in function.regions for block in region for op in block
            )
        return self._functions[name]
