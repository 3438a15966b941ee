"""Shrinks a module while something that its user looks for stays true of it, for reports upstream.

Ops are taken out in halves, quarters and so on, down to one by one; what used their results gets another value of the
same type. Then attributes of dialects, results of main and arguments that nobody uses go in the same way, and all
again until nothing more can go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from hloverlap.passes.mlir import diagnostics, frontend_attributes
from hloverlap.passes.mlir.modules import entry_function, keep_arguments, keep_results, signature
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import zeros
from hloverlap.passes.mlir.walk import FUNCTION, TERMINATORS, has_uses, ops_in

Interesting = Callable[[str], bool]
_Change = Callable[[ir.Module, Sequence[int]], None]  # takes the things of these numbers out of a module, in place

_NEVER = TERMINATORS | {"builtin.module", FUNCTION, "sdy.mesh"}
_MOST_ROUNDS = 20


class Reducer:
    """Keeps the smallest module so far as text. runs: how often `interesting` was asked."""

    def __init__(self, module: ir.Module, interesting: Interesting) -> None:
        self._context = module.context
        self._interesting = interesting
        self.text = str(module)
        self.runs = 0

    def reduce(self) -> str:
        """Finds a smaller module, as text."""
        for _ in range(_MOST_ROUNDS):
            before = self.text
            self._try(_drop_unused, ())
            self._take_out(lambda module: len(_uncalled(module)), _remove_functions)
            self._take_out(lambda module: len(_removable(module)), _remove_ops)
            self._take_out(lambda module: len(_results(module)), _remove_results)
            self._take_out(lambda module: len(_attributes(module)), _remove_attributes)
            self._take_out(lambda module: len(_arguments(module)), _remove_arguments)
            if self.text == before:
                break
        return self.text

    def _take_out(self, count: Callable[[ir.Module], int], change: _Change) -> None:
        """Tries to take things out: all, then each half, each quarter …, last each by itself."""
        left = count(self._parsed())
        size = left
        while size and left:
            start = left
            while start > 0:  # from the end, where what is used last stands
                numbers = range(max(0, start - size), start)
                if self._try(change, numbers):
                    left = count(self._parsed())
                start = min(start - size, left)
            size //= 2

    def _try(self, change: _Change, numbers: Sequence[int]) -> bool:
        """Says whether the module without these is still what is looked for; it is then kept."""
        module = self._parsed()
        with diagnostics.collected(self._context, []):
            try:
                with self._context, ir.Location.unknown():
                    change(module, numbers)
                if not module.operation.verify():
                    return False
            except (ir.MLIRError, ValueError):
                return False
        text = str(module)
        if text == self.text:
            return False
        self.runs += 1
        if not self._interesting(text):
            return False
        self.text = text
        return True

    def _parsed(self) -> ir.Module:
        return ir.Module.parse(self.text, self._context)


def count_ops(module: ir.Module) -> int:
    """Counts the ops that could be taken out."""
    return len(_removable(module))


def _removable(module: ir.Module) -> list[ir.Operation]:
    return [op for op in ops_in(module.operation, order=ir.WalkOrder.PRE_ORDER) if op.name not in _NEVER]


def _remove_ops(module: ir.Module, numbers: Sequence[int]) -> None:
    ops = _removable(module)
    chosen = [ops[number] for number in numbers]
    inside = [op for op in chosen if any(_contains(other, op) for other in chosen if len(other.regions))]
    for op in reversed([op for op in chosen if not any(op is other for other in inside)]):
        for result in op.results:
            if has_uses(result):
                result.replace_all_uses_with(_other_value(op, result.type))
        op.erase()


def _contains(outer: ir.Operation, inner: ir.Operation) -> bool:
    parent = inner.parent
    while parent is not None:
        if parent.operation == outer:
            return True
        parent = parent.operation.parent
    return False


def _other_value(op: ir.Operation, type_: ir.Type) -> ir.Value:
    """Gives a value of this type to use instead of the op's: an operand of it, an argument of its block, or zeros."""
    for value in (*op.operands, *op.block.arguments):
        if value.type == type_:
            return value
    with ir.InsertionPoint(op):
        if isinstance(type_, ir.RankedTensorType):
            return zeros(type_)
        return ir.Operation.create("stablehlo.create_token", results=[type_]).results[0]


def _drop_unused(module: ir.Module, numbers: Sequence[int]) -> None:
    PassManager.parse("builtin.module(symbol-dce,cse)").run(module.operation)


def _uncalled(module: ir.Module) -> list[ir.Operation]:
    """Lists the functions that nobody calls, but main."""
    symbols, main = Symbols(module.operation), _main(module)
    functions = [symbols.functions[name] for name in symbols.roots()]
    return [op for op in functions if main is None or op != main]


def _remove_functions(module: ir.Module, numbers: Sequence[int]) -> None:
    functions = _uncalled(module)
    for number in numbers:
        functions[number].erase()


def _attributes(module: ir.Module) -> list[tuple[ir.Operation, str]]:
    """Lists the attributes of dialects, such as mhlo.frontend_attributes; an op's own have no dot."""
    found = []
    for op in ops_in(module.operation, order=ir.WalkOrder.PRE_ORDER):
        found += [
            (op, name) for name in frontend_attributes.names(op) if "." in name or name in ("arg_attrs", "res_attrs")
        ]
    return found


def _remove_attributes(module: ir.Module, numbers: Sequence[int]) -> None:
    listed = _attributes(module)
    for number in numbers:
        op, name = listed[number]
        del op.attributes[name]


def _main(module: ir.Module) -> ir.Operation | None:
    """Gives main, or the first public function; its signature is nobody else's business."""
    public = (op.operation for op in module.body if op.operation.name == FUNCTION and _is_public(op.operation))
    return entry_function(module) or next(public, None)


def _is_public(function: ir.Operation) -> bool:
    return "sym_visibility" not in function.attributes or function.attributes["sym_visibility"].value == "public"


def _results(module: ir.Module) -> list[int]:
    main = _main(module)
    return list(range(len(signature(main).results))) if main is not None else []


def _remove_results(module: ir.Module, numbers: Sequence[int]) -> None:
    main = _main(module)
    assert main is not None
    keep_results(main, [number for number in _results(module) if number not in numbers])


def _arguments(module: ir.Module) -> list[int]:
    """Lists the arguments of main that nobody uses."""
    main = _main(module)
    if main is None or not len(main.regions[0].blocks):
        return []
    return [value.arg_number for value in main.regions[0].blocks[0].arguments if not has_uses(value)]


def _remove_arguments(module: ir.Module, numbers: Sequence[int]) -> None:
    main = _main(module)
    assert main is not None
    unused = _arguments(module)
    gone = {unused[number] for number in numbers}
    keep_arguments(main, [number for number in range(len(signature(main).inputs)) if number not in gone])
