"""The functions of a module, and who calls whom."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.walk import FUNCTION, ops_in

CALL = "func.call"
_CALLEE = {CALL: "callee", "stablehlo.composite": "decomposition"}
CALLS = frozenset(_CALLEE)  # what runs a function in its place


class Symbols:
    """functions: symbol name -> func.func, in module order."""

    def __init__(self, module: ir.Operation) -> None:
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}  # the next one to try for a wish
        self.functions: dict[str, ir.Operation] = {
            op.operation.attributes["sym_name"].value: op.operation
            for op in module.regions[0].blocks[0].operations
            if op.operation.name == FUNCTION
        }

    def callee(self, op: ir.Operation) -> str | None:
        """Name of the function an op runs in place, or None. The function may be missing from the module."""
        attribute = _CALLEE.get(op.name)
        return str(op.attributes[attribute].value) if attribute else None

    def roots(self) -> list[str]:
        """Functions that no other function calls, in module order: where execution can begin."""
        called = {callee for name in self.functions for callee in self.callees(name)}
        return [name for name in self.functions if name not in called]

    def callees(self, function: str) -> list[str]:
        """Names that the ops of a function call, in order, each as often as it is called."""
        if function not in self.functions:
            return []
        return [str(self.callee(call)) for call in ops_in(self.functions[function], *CALLS)]

    def holding(self, *names: str) -> frozenset[str]:
        """Names the functions in which an op of these names stands, or that lead to such a function by calls.

        The names must not be those of calls.
        """
        callers: dict[str, list[str]] = {}
        waiting = []
        for function, op in self.functions.items():
            for inner in ops_in(op, *names, *CALLS):
                if (callee := self.callee(inner)) is not None:
                    callers.setdefault(callee, []).append(function)
                else:
                    waiting.append(function)
        found: set[str] = set()
        while waiting:
            if (function := waiting.pop()) not in found:
                found.add(function)
                waiting += callers.get(function, [])
        return frozenset(found)

    def redirect(self, call: ir.Operation, function: str) -> None:
        """Has a call run another function."""
        if self.callee(call) != function:
            call.attributes[_CALLEE[call.name]] = ir.FlatSymbolRefAttr.get(function, call.context)

    def unused(self, wish: str) -> str:
        """`wish`, or `wish_0`, `wish_1` … : the first that no function has and that was not given out before."""
        name = wish
        while name in self.functions or name in self._given:
            number = self._numbers.get(wish, 0)
            name, self._numbers[wish] = f"{wish}_{number}", number + 1
        self._given.add(name)
        return name
