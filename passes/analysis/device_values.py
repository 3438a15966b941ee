"""Computes integers for each device while compiling, such as a position on an axis of the mesh.

JAX divides the partition's number to get at an axis index. Which devices agree on it depends on the division, so it is
done here. Only scalars are followed, and only inside of one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dtypes import dtype_of
from hloverlap.passes.mlir.modules import DeviceCounts

Values = np.ndarray[Any, np.dtype[Any]]
"""One integer or bool for each device: of a replica after those of the one before."""


def _quotient(one: Values, other: Values) -> Values:
    return (one - np.fmod(one, other)) // other  # towards 0, as StableHLO has it


_COMPARISONS: Mapping[str, Callable[[Values, Values], Values]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_BINARY: Mapping[str, Callable[[Values, Values], Values]] = {
    "stablehlo.add": np.add,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.divide": _quotient,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.remainder": np.fmod,
    "stablehlo.subtract": np.subtract,
}
_UNARY = frozenset({"stablehlo.convert", "stablehlo.reshape"})
IDS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})


def device_values(op: ir.Operation, known: Mapping[ir.Value, Values], counts: DeviceCounts) -> Values | None:
    """Gives what an op's one result is on each device; None where it cannot be told. known: that of other values."""
    if op.name in IDS:
        numbers = np.divmod(np.arange(counts.devices, dtype=np.uint32), np.uint32(counts.partitions or 1))
        return numbers[op.name == "stablehlo.partition_id"]
    if op.name == "stablehlo.constant":
        dtype = _integer_type(op)
        return None if dtype is None else np.full(counts.devices, np.array(op.attributes["value"]), dtype)
    operands = [known[value] for value in op.operands if value in known]
    if len(operands) != len(op.operands) or not operands or (dtype := _integer_type(op)) is None:
        return None
    if op.name in _UNARY:
        return operands[0].astype(dtype)
    if op.name == "stablehlo.compare":
        direction = str(op.attributes["comparison_direction"])
        return next((compare(*operands) for name, compare in _COMPARISONS.items() if f" {name}>" in direction), None)
    if op.name not in _BINARY or (_BINARY[op.name] in (_quotient, np.fmod) and not operands[1].all()):
        return None
    return _BINARY[op.name](*operands).astype(dtype)


def _integer_type(op: ir.Operation) -> np.dtype[Any] | None:
    """Gives the type of a scalar of at least a byte."""
    type_ = op.results[0].type
    if not isinstance(type_, ir.RankedTensorType) or type_.shape or not isinstance(type_.element_type, ir.IntegerType):
        return None
    width = type_.element_type.width
    return dtype_of(str(type_.element_type)) if width == 1 or width >= 8 else None
