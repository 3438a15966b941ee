"""Answers for element types how wide they are, what their zeros are, and which of them XLA moves bit for bit."""

from __future__ import annotations

import math

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def element_of(value_type: ir.Type) -> ir.Type:
    """Gives the element type of a tensor; any other type is its own."""
    return value_type.element_type if isinstance(value_type, ir.ShapedType | ir.RankedTensorType) else value_type


def with_element(value_type: ir.Type, element: ir.Type) -> ir.RankedTensorType:
    """Gives the tensor type of the same shape with other elements."""
    shape = ir.RankedTensorType(value_type).shape
    return ir.RankedTensorType.get(shape, element, loc=ir.Location.unknown(element.context))


def is_token(value_type: ir.Type) -> bool:
    """Says whether a value of this type is nothing but an order among ops."""
    return not isinstance(value_type, ir.RankedTensorType) and str(value_type).endswith(".token")


def elements_of(value_type: ir.Type) -> int:
    """Counts the elements of a tensor of static shape."""
    return math.prod(ir.RankedTensorType(value_type).shape)


def has_static_shape(value_type: ir.Type) -> bool:
    """Says whether a type is a tensor whose size is known when compiling."""
    return isinstance(value_type, ir.RankedTensorType) and value_type.has_static_shape


def bits_of(element: ir.Type) -> int:
    """Counts the bits of one element as XLA stores it, so 8 of a bool; 0 for what holds no data, such as a token."""
    if isinstance(element, ir.ComplexType):
        return 2 * bits_of(element.element_type)
    if isinstance(element, ir.IntegerType):
        return 8 if element.width == 1 else element.width
    if isinstance(element, ir.FloatType):
        return int(element.width)
    return 0


def bytes_of(value_type: ir.Type) -> int:
    """Counts the bytes of a tensor, rounded up; 0 where the shape is dynamic or the type holds no data."""
    if not has_static_shape(value_type):
        return 0
    return (elements_of(value_type) * bits_of(element_of(value_type)) + 7) // 8


def bits_type(element: ir.Type) -> ir.IntegerType:
    """Gives the unsigned integer type that holds the bits of an element."""
    return ir.IntegerType.get_unsigned(bits_of(element), element.context)


# The floats that XLA moves bit for bit wherever it was looked, as MLIR prints them.
MOVED_AS_THEY_ARE = frozenset({"f16", "f32", "f64"})


def is_widened(element: ir.Type) -> bool:
    """Says whether XLA may do in a wider float what only moves such elements, which changes the payloads of NaNs.

    Its float normalization does so to selects, concatenates and updates of slices of types that a backend does not
    compute in. XLA:CPU of jaxlib 0.10.2 has it for bfloat16 and for floats of a byte, that of 0.12.0 for those of a
    byte alone; a type that has but one NaN comes back as it was. The answer is the same for all versions, since a
    module may be compiled by another one than rewrites it.
    """
    return isinstance(element, ir.FloatType) and str(element) not in MOVED_AS_THEY_ARE


def zero_of(value_type: ir.Type) -> ir.DenseElementsAttr:
    """Gives the attribute of a tensor of static shape whose every bit is 0; the elements must not be complex."""
    element = element_of(value_type)
    if isinstance(element, ir.FloatType):
        zero: ir.Attribute = ir.FloatAttr.get(element, 0.0, ir.Location.unknown(element.context))
    else:
        zero = ir.IntegerAttr.get(element, 0)
    return ir.DenseElementsAttr.get_splat(value_type, zero)


def zeros(value_type: ir.Type) -> ir.Value:
    """Builds a tensor of static shape whose every bit is 0, at the current insertion point."""
    element = element_of(value_type)
    if isinstance(element, ir.ComplexType):
        part = zeros(with_element(value_type, element.element_type))
        return stablehlo.complex(part, part)
    return stablehlo.constant(zero_of(value_type))
