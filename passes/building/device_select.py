"""Builds values that are one thing on some devices and another on the others, bit for bit."""

from __future__ import annotations

from collections.abc import Collection

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.mlir.types import (
    bits_of,
    bits_type,
    element_of,
    has_static_shape,
    is_widened,
    with_element,
    zeros,
)


def can_select(value_type: ir.Type) -> bool:
    """Says whether a type has a static shape and elements that a select hands on bit for bit."""
    if not has_static_shape(value_type):
        return False
    element = element_of(value_type)
    if isinstance(element, ir.ComplexType):
        return True
    return isinstance(element, ir.IntegerType) or (
        isinstance(element, ir.FloatType) and bits_of(element) in (4, 8, 16, 32, 64)
    )


def can_be_zero(value_type: ir.Type) -> bool:
    """Says whether zero is a value of the element type; a permute gives it to devices that nothing is sent to."""
    return not isinstance(element_of(value_type), ir.Float8E8M0FNUType)


def is_one_of(ids: Collection[int], mode: str, count: int) -> ir.Value:
    """Builds a boolean scalar, at the current insertion point: whether this device's id is among `ids`.

    mode: of a permute, ``partition`` or ``replica``. count: how many ids there are.
    """
    context = ir.InsertionPoint.current.block.owner.context
    bit = ir.IntegerType.get_signless(1, context)
    table = [ir.BoolAttr.get(number in ids, context) for number in range(count)]
    constant = stablehlo.constant(ir.DenseElementsAttr.get(table, ir.RankedTensorType.get([count], bit)))
    number = stablehlo.partition_id() if mode == "partition" else stablehlo.replica_id()
    entry = stablehlo.dynamic_slice(constant, [number], [1])
    condition: ir.Value = stablehlo.reshape(ir.RankedTensorType.get([], bit), entry)
    return condition


def select(condition: ir.Value, on_true: ir.Value, on_false: ir.Value) -> ir.Value:
    """Builds one of two values of one type, at the current insertion point."""
    value_type = on_true.type
    bits = _chosen_type(value_type)
    chosen = stablehlo.select(condition, _as(bits, on_true), _as(bits, on_false))
    return _as(value_type, chosen)


def select_or_zeros(condition: ir.Value, on_true: ir.Value) -> ir.Value:
    """Builds the value, or all bits 0, at the current insertion point."""
    value_type = on_true.type
    bits = _chosen_type(value_type)
    chosen = stablehlo.select(condition, _as(bits, on_true), zeros(bits))
    return _as(value_type, chosen)


def _chosen_type(value_type: ir.Type) -> ir.Type:
    """Gives the type in which a select cannot change a bit."""
    element = element_of(value_type)
    return with_element(value_type, bits_type(element)) if is_widened(element) else value_type


def _as(wanted: ir.Type, value: ir.Value) -> ir.Value:
    same: ir.Value = value if value.type == wanted else stablehlo.bitcast_convert(wanted, value)
    return same
