"""Finds which axes of its mesh a computation is manual over, and along which XLA may still divide its values."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.mlir.meshes import Meshes
from hloverlap.passes.mlir.symbols import CALLS, Symbols, symbol_name
from hloverlap.passes.mlir.walk import FUNCTION, MANUAL_COMPUTATION, ops_in

# How GSPMD enters a manual computation, with what its sharding is in one that is manual over some axes only; and the
# name that the others go by here, as GSPMD has none.
_ENTERS = "SPMDFullToShardShape"
_SHARDING = re.compile(r"\{devices=\[([\d,]+)\].*last_tile_dims=\{([\w, ]+)\}\}")
_UNNAMED = "(unnamed)"


@dataclasses.dataclass(frozen=True)
class _AxisScope:
    """Says which mesh axes hold where an op stands."""

    manual: frozenset[str] = frozenset()
    """The axes of the manual computations around it."""

    sizes: frozenset[tuple[str, int]] = frozenset()
    """The axes of all their meshes, with their sizes."""

    def inside(self, outer: _AxisScope) -> _AxisScope:
        return _AxisScope(self.manual | outer.manual, self.sizes | outer.sizes)

    @property
    def free(self) -> frozenset[str]:
        return frozenset(name for name, size in self.sizes if size > 1 and name not in self.manual)

    @property
    def is_manual(self) -> bool:
        return bool(self.sizes) and self.manual.issuperset(name for name, _ in self.sizes)


class MeshAxes:
    """Answers for the ops of a module, in all their executions: a function may be called from several places."""

    def __init__(self, module: ir.Operation, symbols: Symbols) -> None:
        self._symbols = symbols
        self._meshes = Meshes(module)
        self._calls: dict[str, list[ir.Operation]] = {}
        self._partly: dict[str, int] = {}  # functions where GSPMD enters a partly manual computation, and its parts
        for name, function in symbols.functions.items():
            self._note(name, function)
        self._functions: dict[str, frozenset[_AxisScope]] = {}

    def are_manual(self, op: ir.Operation) -> bool:
        """Says whether the op, in every execution, is in a computation that is manual over all axes of its mesh."""
        return all(scope.is_manual for scope in self._scopes(op))

    def free(self, op: ir.Operation) -> tuple[str, ...]:
        """Lists the axes, with more than one device, that a manual computation around the op leaves to XLA; sorted."""
        return tuple(sorted({name for scope in self._scopes(op) for name in scope.free}))

    def parts(self, op: ir.Operation) -> int:
        """Counts the parts into which XLA may divide a value of the op, at most, along its free axes."""
        return max(math.prod(size for axis, size in scope.sizes if axis in scope.free) for scope in self._scopes(op))

    def _note(self, name: str, function: ir.Operation) -> None:
        for op in ops_in(function, *CALLS, "stablehlo.custom_call"):
            if (callee := self._symbols.callee(op)) is not None:
                self._calls.setdefault(callee, []).append(op)
            elif (parts := _free_parts(op)) > 1:
                self._partly[name] = max(parts, self._partly.get(name, 1))

    def _scopes(self, op: ir.Operation) -> frozenset[_AxisScope]:
        """Gives one scope for each way that leads to the op, as far as they differ."""
        manual: set[str] = set()
        sizes: set[tuple[str, int]] = set()
        while op.name != FUNCTION:
            if op.name == MANUAL_COMPUTATION:
                axes = sdy.ManualAxesAttr(op.attributes["manual_axes"])
                manual.update(str(axes[number]).strip('"') for number in range(len(axes)))
                sizes.update(self._mesh_of(op))
            if op.parent is None:
                return frozenset({_AxisScope()})
            op = op.parent.operation
        scope = _AxisScope(frozenset(manual), frozenset(sizes))
        outer = self._scopes_of(symbol_name(op))
        return frozenset(scope.inside(each) for each in outer)

    def _scopes_of(self, name: str) -> frozenset[_AxisScope]:
        """Gives the scopes of a function's body."""
        if name not in self._functions:
            self._functions[name] = frozenset({_AxisScope()})  # what a recursive function would find
            found = {scope for call in self._calls.get(name, []) for scope in self._scopes(call)} or {_AxisScope()}
            if name in self._partly:
                left = _AxisScope(sizes=frozenset({(_UNNAMED, self._partly[name])}))
                found = {scope.inside(left) for scope in found}
            self._functions[name] = frozenset(found)
        return self._functions[name]

    def _mesh_of(self, computation: ir.Operation) -> Iterator[tuple[str, int]]:
        for name in ("in_shardings", "out_shardings"):
            shardings = sdy.TensorShardingPerValueAttr(computation.attributes[name]).shardings
            for sharding in map(sdy.TensorShardingAttr, shardings):
                yield from self._meshes.of(sharding.mesh_or_ref).sizes.items()


def _free_parts(op: ir.Operation) -> int:
    """Counts the parts into which GSPMD may divide what enters a manual computation by this op; 1 by another one."""
    if str(ir.StringAttr(op.attributes["call_target_name"]).value) != _ENTERS or "mhlo.sharding" not in op.attributes:
        return 1
    match = _SHARDING.match(str(ir.StringAttr(op.attributes["mhlo.sharding"]).value))
    if match is None:
        return 1
    counts = [int(count) for count in match[1].split(",")]
    kinds = [kind.strip() for kind in match[2].split(",")]
    manual = [count for count, kind in zip(counts[-len(kinds) :], kinds, strict=True) if kind == "manual"]
    return math.prod(counts) // math.prod(manual)
