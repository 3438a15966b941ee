"""Makes of a function that is called on several paths as many as its ops need different attributes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from jaxlib.mlir import ir

from hloverlap.passes.analysis.dataflow import Instance
from hloverlap.passes.mlir.symbols import Symbols, symbol_name
from hloverlap.passes.mlir.walk import ops_in

Choices = Mapping[Instance, Mapping[ir.Operation, Hashable]]


def specialize(symbols: Symbols, roots: Sequence[Instance], choices: Choices) -> dict[ir.Operation, Any]:
    """Gives each op its choice, where execution paths may choose differently for one op.

    Paths that agree share one function; for the others the function is copied, under a name that is free, right behind
    the original, and their calls are turned to it. Returns op -> choice in the order of execution paths, with the ops
    of copies in place of the originals.
    """
    return _Specializer(symbols, choices).run(roots)


class _Specializer:
    def __init__(self, symbols: Symbols, choices: Choices) -> None:
        self._symbols = symbols
        self._choices = choices
        self._ops = {name: ops_in(function) for name, function in symbols.functions.items()}
        self._signatures: dict[Instance, Hashable] = {}
        self._variants: dict[str, dict[Hashable, str]] = {}
        self._last: dict[str, ir.Operation] = {}  # the newest variant: the next one goes behind it
        self._chosen: dict[ir.Operation, Any] = {}

    def run(self, roots: Sequence[Instance]) -> dict[ir.Operation, Any]:
        for root in roots:
            self._choose(root, self._symbols.functions[root.function])
        return self._chosen

    def _signature(self, instance: Instance) -> Hashable:
        if instance not in self._signatures:
            self._signatures[instance] = (
                tuple(self._choices.get(instance, {}).values()),
                tuple(map(self._signature, instance.children)),
            )
        return self._signatures[instance]

    def _choose(self, instance: Instance, function: ir.Operation) -> None:
        originals = self._ops[instance.function]
        actual = dict(zip(originals, ops_in(function), strict=True))
        for op, choice in self._choices.get(instance, {}).items():
            self._chosen[actual[op]] = choice
        for child in instance.children:
            assert child.op is not None
            variants = self._variants.setdefault(child.function, {})
            signature = self._signature(child)
            name = variants.get(signature)
            if name is None:
                original = self._symbols.functions[child.function]
                chosen = self._copy(original) if variants else original
                self._last[child.function] = chosen
                name = variants[signature] = symbol_name(chosen)
                self._choose(child, chosen)
            self._symbols.redirect(actual[child.op], name)

    def _copy(self, function: ir.Operation) -> ir.Operation:
        name = self._symbols.unused(f"{symbol_name(function)}_streams")
        copy = function.clone(ip=ir.InsertionPoint(function)).operation
        copy.move_after(self._last[symbol_name(function)])
        copy.attributes["sym_name"] = ir.StringAttr.get(name, function.context)
        return copy
