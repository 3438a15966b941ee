"""Whether a module is small enough to run here: its arithmetic, and the memory there is."""

from __future__ import annotations

import math
import os
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.mlir.symbols import Symbols

CORE_RATE = 25e9  # flop/s of one core in XLA:CPU's matmuls; 27e9 (f32) to 46e9 (bf16) seen on an AMD EPYC


def flops(module: ir.Module, partitions: int) -> float:
    """Floating-point operations of all dots and convolutions, on one replica's devices together.

    Loops count as often as their bound says where it is a constant, else once.
    """
    symbols = Symbols(module.operation)
    known: dict[str, float] = {}

    def of_function(name: str) -> float:
        if name not in known:
            known[name] = 0.0  # StableHLO forbids recursion; a broken module must not hang
            if name in symbols.functions:
                known[name] = of_regions(symbols.functions[name])
        return known[name]

    def of_regions(op: ir.Operation) -> float:
        return sum(of_op(inner.operation) for region in op.regions for block in region for inner in block)

    def of_op(op: ir.Operation) -> float:
        total = of_regions(op)
        if op.name == "stablehlo.dot_general":
            total += _dot(op)
        elif op.name == "stablehlo.convolution":
            total += _convolution(op)
        elif op.name == "stablehlo.while":
            total *= _trips(op)
        elif op.name == "sdy.manual_computation":
            total *= partitions  # the shapes inside are those of one device
        elif (callee := symbols.callee(op)) is not None:
            total += of_function(callee)
        return total

    return of_function("main")


def available_memory() -> int:
    """Bytes that this process may still take, by the kernel's word and by the limit of its control group."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            limits += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = int(file.read())
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            limits.append(limit - int(file.read()))
    except (OSError, ValueError):
        pass  # no Linux, no control group, or no limit in it ("max")
    return max(0, min(limits))


def _elements(type_: ir.Type) -> int:
    return math.prod(ir.ShapedType(type_).shape)


def _dot(op: ir.Operation) -> float:
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left = ir.ShapedType(op.operands[0].type).shape
    return 2.0 * _elements(op.results[0].type) * math.prod(left[axis] for axis in numbers.lhs_contracting_dimensions)


def _convolution(op: ir.Operation) -> float:
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    features = numbers.kernel_output_feature_dimension
    outputs = ir.ShapedType(op.operands[1].type).shape[features]
    return 2.0 * _elements(op.results[0].type) * _elements(op.operands[1].type) / max(1, outputs)


def _trips(op: ir.Operation) -> int:
    """The constant that the loop's condition compares with: jax counts from 0 in steps of 1."""
    condition = op.regions[0].blocks[0]
    compared = _definition(condition.operations[len(condition.operations) - 1].operation.operands[0])
    if compared is None or compared.name != "stablehlo.compare":
        return 1
    for operand in compared.operands:
        if isinstance(operand.owner, ir.Block):  # carried by the loop: look at what it starts with
            operand = op.operands[ir.BlockArgument(operand).arg_number]
        bound = _definition(operand)
        if bound is None or bound.name != "stablehlo.constant":
            continue
        if isinstance(ir.ShapedType(bound.results[0].type).element_type, ir.IntegerType):
            value = ir.DenseIntElementsAttr(bound.attributes["value"])
            if len(value) == 1 and value[0] > 0:
                return int(value[0])
    return 1


def _definition(value: Any) -> ir.Operation | None:
    """The op that makes an ir.Value, None for a block argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation
