"""Looks up the functions of a module, and who calls whom."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir

from hloverlap.passes.mlir.walk import FUNCTION, ops_in

CALL = "func.call"
_CALLEE = {CALL: "callee", "stablehlo.composite": "decomposition"}
CALLS = frozenset(_CALLEE)  # what runs a function in its place


def symbol_name(op: ir.Operation) -> str:
    """Gives the name of a function, or of another op that has a name in its module."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


class Symbols:
    """Knows the functions of a module. functions: symbol name -> func.func, in module order."""

    def __init__(self, module: ir.Operation) -> None:
        held = [op.operation for op in module.regions[0].blocks[0].operations]
        # MLIR's own SymbolTable.insert renames too, but frees an op twice that was not in the module before, with
        # which the process may end (jaxlib 0.10.2 and 0.12.0).
        self._taken = {symbol_name(op) for op in held if "sym_name" in op.attributes}
        self._numbers: dict[str, int] = {}  # the next one to try for a wanted
        self.functions: dict[str, ir.Operation] = {symbol_name(op): op for op in held if op.name == FUNCTION}

    def callee(self, op: ir.Operation) -> str | None:
        """Gives the name of the function an op runs in place, or None. The function may be missing from the module."""
        attribute = _CALLEE.get(op.name)
        return str(op.attributes[attribute].value) if attribute else None

    def roots(self) -> list[str]:
        """Lists the functions that no other function calls, in module order: where execution can begin."""
        called = {callee for name in self.functions for callee in self.callees(name)}
        return [name for name in self.functions if name not in called]

    def callees(self, function: str) -> list[str]:
        """Lists the names that the ops of a function call, in order, each as often as it is called."""
        if function not in self.functions:
            return []
        return [str(self.callee(call)) for call in ops_in(self.functions[function], *CALLS)]

    def leading_to(self, functions: Iterable[str]) -> frozenset[str]:
        """Names these functions and those that lead to one of them by calls."""
        callers: dict[str, list[str]] = {}
        for caller in self.functions:
            for callee in self.callees(caller):
                callers.setdefault(callee, []).append(caller)
        found: set[str] = set()
        waiting = list(functions)
        while waiting:
            if (function := waiting.pop()) not in found:
                found.add(function)
                waiting += callers.get(function, [])
        return frozenset(found)

    def redirect(self, call: ir.Operation, function: str) -> None:
        """Has a call run another function."""
        if self.callee(call) != function:
            call.attributes[_CALLEE[call.name]] = ir.FlatSymbolRefAttr.get(function, call.context)

    def unused(self, wanted: str) -> str:
        """Gives `wanted`, or ``wanted_0``, ``wanted_1`` … : the first that neither the module has nor was given out."""
        name = wanted
        while name in self._taken:
            number = self._numbers.get(wanted, 0)
            name, self._numbers[wanted] = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name
