"""Says whether a module is small enough to run here: its arithmetic, and the memory there is."""

from __future__ import annotations

import math
import os

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis.loops import trip_count
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import elements_of
from hloverlap.passes.mlir.walk import LOOP, MANUAL_COMPUTATION

CORE_RATE = 25e9  # flop/s of one core in XLA:CPU's matmuls; 27e9 (f32) to 46e9 (bf16) seen on an AMD EPYC


def flops(module: ir.Module, partitions: int) -> float:
    """Counts the floating-point operations of all dots and convolutions, on one replica's devices together.

    A loop that does not say how often it turns counts as one turn.
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
        elif op.name == LOOP:
            turns = trip_count(op)
            total *= 1 if turns is None else turns
        elif op.name == MANUAL_COMPUTATION:
            total *= partitions  # the shapes inside are those of one device
        elif (callee := symbols.callee(op)) is not None:
            total += of_function(callee)
        return total

    return of_function("main")


def available_memory() -> int:
    """Counts the bytes that this process may still take, by the kernel's word and by the limit of its control group."""
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


def _dot(op: ir.Operation) -> float:
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    left = ir.ShapedType(op.operands[0].type).shape
    return 2.0 * elements_of(op.results[0].type) * math.prod(left[axis] for axis in numbers.lhs_contracting_dimensions)


def _convolution(op: ir.Operation) -> float:
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    features = numbers.kernel_output_feature_dimension
    outputs = ir.ShapedType(op.operands[1].type).shape[features]
    return 2.0 * elements_of(op.results[0].type) * elements_of(op.operands[1].type) / max(1, outputs)
