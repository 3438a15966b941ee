"""Evaluates single ops by StableHLO's own interpreter, without XLA or jax.

A value is a dense elements attribute: MLIR makes equal ones one object, so comparing values compares every bit. A
complex value is two, for the bindings cannot hold an attribute with complex elements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

from hloverlap.passes.mlir.types import zero_of
from hloverlap.passes.mlir.walk import free_values
from hloverlap.pipeline.equivalence.entry import NotRunnableError

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Array

Value: TypeAlias = ir.Attribute | tuple[ir.Attribute, ir.Attribute]
Build = Callable[[Sequence[ir.Value]], Sequence[ir.Value]]

TOKEN = "!stablehlo.token"


class _EvaluatedModule(NamedTuple):
    """A module whose main computes what was asked for, with complex values in two parts."""

    module: ir.Module
    complex_results: tuple[bool, ...]


class Evaluator:
    """Evaluates ops of modules in one context; what it builds for an op is kept for the next time."""

    def __init__(self, context: ir.Context) -> None:
        self._context = context
        self._modules: dict[Hashable, _EvaluatedModule] = {}

    def op(self, op: ir.Operation, values: Sequence[Value]) -> list[Value]:
        """Computes the results of an op. values: of its operands, then of its free values."""
        used = [*op.operands, *free_values(op)]

        def build(arguments: Sequence[ir.Value]) -> Sequence[ir.Value]:
            copy = op.clone().operation
            _replace(copy, dict(zip(used, arguments, strict=True)))
            return list(copy.results)

        return self.built(op, build, [value.type for value in used], values)

    def built(self, key: Hashable, build: Build, types: Sequence[ir.Type], values: Sequence[Value]) -> list[Value]:
        """Computes what `build` makes of arguments of these types; `key` stands for all that it makes."""
        evaluated = self._modules.get(key)
        if evaluated is None:
            evaluated = self._modules[key] = self._build_module(build, types)
        flat = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        try:
            parts = iter(stablehlo.eval_module(evaluated.module, flat))
        except Exception as error:  # the binding raises what it likes
            raise NotRunnableError(f"StableHLO's interpreter says: {' '.join(str(error).split())}") from error
        return [(next(parts), next(parts)) if complex_ else next(parts) for complex_ in evaluated.complex_results]

    def _build_module(self, build: Build, types: Sequence[ir.Type]) -> _EvaluatedModule:
        with self._context, ir.Location.unknown():
            module = ir.Module.create()
            inputs = [part for type_ in types for part in _parts(type_)]
            with ir.InsertionPoint(module.body):
                main = func.FuncOp("main", (inputs, []))
                block = main.add_entry_block()
            with ir.InsertionPoint(block):
                given = iter(block.arguments)
                arguments = [
                    stablehlo.complex(next(given), next(given)) if _is_complex(type_) else next(given)
                    for type_ in types
                ]
                results = list(build(arguments))
                outputs = [
                    part
                    for result in results
                    for part in (
                        (stablehlo.real(result), stablehlo.imag(result)) if _is_complex(result.type) else (result,)
                    )
                ]
                func.ReturnOp(outputs)
            signature = ir.FunctionType.get(inputs, [output.type for output in outputs])
            main.attributes["function_type"] = ir.TypeAttr.get(signature)
        return _EvaluatedModule(module, tuple(_is_complex(result.type) for result in results))


def _is_complex(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.element_type, ir.ComplexType)


def _parts(type_: ir.Type) -> list[ir.Type]:
    """Gives the type itself; of a complex tensor, its real and its imaginary part."""
    if not _is_complex(type_):
        return [type_]
    shaped = ir.RankedTensorType(type_)
    return [ir.RankedTensorType.get(shaped.shape, ir.ComplexType(shaped.element_type).element_type)] * 2


def zeros(type_: ir.Type) -> Value:
    """Makes the value of this tensor type whose every bit is 0."""
    with type_.context, ir.Location.unknown():
        return _value([zero_of(part) for part in _parts(type_)])


def from_array(array: Array, type_: ir.Type) -> Value:
    """Makes a value of this tensor type with the bits of `array`, which has the same shape and element type."""
    halves = [array.real, array.imag] if array.dtype.kind == "c" else [array]

    def of_part(part: Array, part_type: ir.Type) -> ir.Attribute:
        spelled = ""
        if part.size:
            spelled = str(part.tolist()).lower() if part.dtype.kind == "b" else f'"0x{part.tobytes().hex().upper()}"'
        return ir.Attribute.parse(f"dense<{spelled}> : {part_type}")

    with type_.context, ir.Location.unknown():
        return _value([of_part(*each) for each in zip(halves, _parts(type_), strict=True)])


def _value(parts: Sequence[ir.Attribute]) -> Value:
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


def _replace(op: ir.Operation, replacements: dict[ir.Value, ir.Value]) -> None:
    for number, operand in enumerate(op.operands):
        if operand in replacements:
            op.operands[number] = replacements[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace(inner.operation, replacements)
