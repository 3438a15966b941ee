"""Tensors of any types as one flat tensor of bits, and back, exactly: no value is ever interpreted as a number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis.collectives import bits_of, element_of, has_static_shape

_SMALLEST = 8


def can_pack(value_type: ir.Type) -> bool:
    """Whether a type has a static shape and elements of 1, 2, 4, 8, 16, 32 or 64 bits, or complex ones of them."""
    if not has_static_shape(value_type):
        return False
    element = element_of(value_type)
    if isinstance(element, ir.ComplexType):
        element = element.element_type
    return isinstance(element, ir.IntegerType | ir.FloatType) and bits_of(element) in (2, 4, 8, 16, 32, 64)


def pack(values: Sequence[ir.Value]) -> ir.Value:
    """One flat tensor with the bits of all values, in order. Builds at the current insertion point."""
    types = [value.type for value in values]
    unit = _unit(types)
    parts = [_flat(part, unit) for value in values for part in _parts(value)]
    return stablehlo.concatenate(parts, 0)


def unpack(flat: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    """The values of these types that `pack` made `flat` of."""
    unit = _unit(types)
    offset = 0
    values = []
    for value_type in types:
        parts = []
        for part_type in _part_types(value_type):
            length = _length(part_type, unit)
            piece = stablehlo.slice(flat, [offset], [offset + length], [1])
            offset += length
            parts.append(_shaped(piece, part_type, unit))
        values.append(parts[0] if len(parts) == 1 else stablehlo.complex(*parts))
    return values


def _unit(types: Sequence[ir.Type]) -> ir.Type:
    """Element type of the flat tensor: the type that all share where it is one that compilers move as it is, else an
    unsigned integer as wide as the narrowest. XLA may compute with floats under 32 bits in a wider type, which would
    change the payload of a NaN."""
    elements = [element_of(part) for value_type in types for part in _part_types(value_type)]
    width = min(map(_stored_bits, elements))
    first = elements[0]
    same = all(element == first for element in elements)
    plain = isinstance(first, ir.F32Type | ir.F64Type) or (isinstance(first, ir.IntegerType) and first.width >= 8)
    return first if same and plain else ir.IntegerType.get_unsigned(width)


def _part_types(value_type: ir.Type) -> list[ir.Type]:
    """The type itself; of a complex tensor, its real and its imaginary part."""
    shaped = ir.RankedTensorType(value_type)
    if isinstance(shaped.element_type, ir.ComplexType):
        return [ir.RankedTensorType.get(shaped.shape, shaped.element_type.element_type)] * 2
    return [value_type]


def _parts(value: ir.Value) -> list[ir.Value]:
    if isinstance(element_of(value.type), ir.ComplexType):
        return [stablehlo.real(value), stablehlo.imag(value)]
    return [value]


def _stored_bits(element: ir.Type) -> int:
    """Bits of an element in the flat tensor: what does not fill a byte gets one."""
    return max(_SMALLEST, bits_of(element))


def _ratio(element: ir.Type, unit: ir.Type) -> int:
    """Units that one element takes."""
    return _stored_bits(element) // bits_of(unit)


def _length(part_type: ir.Type, unit: ir.Type) -> int:
    shaped = ir.RankedTensorType(part_type)
    return math.prod(shaped.shape) * _ratio(shaped.element_type, unit)


def _unit_type(part_type: ir.Type, unit: ir.Type) -> ir.Type:
    """What bitcast_convert makes of a tensor: where one element takes several units, they are one more dimension."""
    shaped = ir.RankedTensorType(part_type)
    ratio = _ratio(shaped.element_type, unit)
    return ir.RankedTensorType.get([*shaped.shape, *([ratio] if ratio > 1 else [])], unit)


def _flat(part: ir.Value, unit: ir.Type) -> ir.Value:
    part_type = part.type
    if (narrow := _narrow(part_type)) is not None:
        part = stablehlo.convert(_byte_type(part_type), _bitcast(part, narrow))
    part = _bitcast(part, _unit_type(part_type, unit))
    return stablehlo.reshape(ir.RankedTensorType.get([_length(part_type, unit)], unit), part)


def _shaped(piece: ir.Value, part_type: ir.Type, unit: ir.Type) -> ir.Value:
    piece = stablehlo.reshape(_unit_type(part_type, unit), piece)
    if (narrow := _narrow(part_type)) is not None:
        piece = stablehlo.convert(narrow, _bitcast(piece, _byte_type(part_type)))
    return _bitcast(piece, part_type)


def _bitcast(value: ir.Value, target: ir.Type) -> ir.Value:
    return value if value.type == target else stablehlo.bitcast_convert(target, value)


def _narrow(part_type: ir.Type) -> ir.Type | None:
    """For elements that do not fill a byte, the integers that convert to and from a byte exactly; bool stays bool."""
    shaped = ir.RankedTensorType(part_type)
    element = shaped.element_type
    if isinstance(element, ir.IntegerType) and element.width == 1:
        return part_type
    if bits_of(element) >= _SMALLEST:
        return None
    return ir.RankedTensorType.get(shaped.shape, ir.IntegerType.get_unsigned(bits_of(element)))


def _byte_type(part_type: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(ir.RankedTensorType(part_type).shape, ir.IntegerType.get_unsigned(_SMALLEST))
