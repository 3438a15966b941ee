"""Runs one module on StableHLO's interpreter, as a CompiledProgram does. Only the child of a check imports it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.mlir.dtypes import bits_of, dtype_of, is_float
from hloverlap.passes.mlir.modules import signature
from hloverlap.pipeline.equivalence.entry import Entry, entry_function
from hloverlap.pipeline.equivalence.interpreter.interpreter import Interpreter, random_arguments
from hloverlap.pipeline.equivalence.interpreter.op_eval import Evaluator, Value

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Array, Kind

# Floating-point operations a second, for what is too large: the interpreter computes element by element.
RATE = 1e6


class InterpretedProgram:
    """Runs a module as often as it is asked. Raises NotRunnableError for what the interpreter does not know."""

    def __init__(self, module: ir.Module, entry: Entry) -> None:
        self.entry = entry
        self._module = module
        self._interpreter = Interpreter(module)
        self._evaluator = Evaluator(module.context)
        type_ = signature(entry_function(module))
        self._results = list(type_.results)

    def run(self, kind: Kind, seed: int) -> list[list[Array]]:
        """Runs once; result[output][process] is what that process has."""
        arguments = random_arguments(self._module, self._interpreter.grid, kind, seed)
        outputs = self._interpreter.run(arguments)
        return [
            [self._array(of_process[number], type_) for of_process in outputs]
            for number, type_ in enumerate(self._results)
        ]

    def _array(self, value: Value, type_: ir.Type) -> Array:
        shaped = ir.RankedTensorType(type_)
        dtype = dtype_of(str(shaped.element_type))
        if isinstance(value, tuple):
            with type_.context, ir.Location.unknown():
                part = ir.RankedTensorType.get(shaped.shape, ir.ComplexType(shaped.element_type).element_type)
            halves = np.stack([self._array(half, part) for half in value], axis=-1)
            return np.ascontiguousarray(halves).view(dtype).reshape(shaped.shape)
        return _bits(value, shaped, dtype, self._evaluator)


def _bits(value: ir.Attribute, type_: ir.RankedTensorType, dtype: np.dtype[Any], evaluator: Evaluator) -> Array:
    """Makes the array with the bits of a value.

    Of floats, the bindings give only some whole; of integers, those of bytes.
    """
    width = bits_of(dtype)
    signed = not is_float(dtype) and "uint" not in dtype.name
    integer = ir.IntegerType.get_signless if signed else ir.IntegerType.get_unsigned

    def build(arguments: Sequence[ir.Value]) -> list[ir.Value]:
        (number,) = arguments
        if is_float(dtype):
            number = stablehlo.bitcast_convert(ir.RankedTensorType.get(type_.shape, integer(width)), number)
        if width < 8:
            number = stablehlo.convert(ir.RankedTensorType.get(type_.shape, integer(8)), number)
        return [number]

    (numbers,) = evaluator.built(("bits", str(type_)), build, [type_], [value])
    listed = list(ir.DenseIntElementsAttr(numbers))
    if is_float(dtype):
        return np.array(listed, np.dtype(f"uint{8 * dtype.itemsize}")).view(dtype).reshape(type_.shape)
    return np.array(listed, np.int64 if signed else np.uint64).astype(dtype).reshape(type_.shape)
