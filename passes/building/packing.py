"""Packs tensors of any types into one flat tensor of bits and back, exactly: no value is ever read as a number."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.building.bit_planes import from_words, joined, sliced, to_words
from hloverlap.passes.mlir.types import (
    bits_of,
    bits_type,
    element_of,
    elements_of,
    has_static_shape,
    is_widened,
    with_element,
)

_SMALLEST = 8


def can_pack(value_type: ir.Type) -> bool:
    """Says whether a type has a static shape and elements of 1, 2, 4, 8, 16, 32 or 64 bits, or complex ones of them."""
    if not has_static_shape(value_type):
        return False
    element = element_of(value_type)
    if isinstance(element, ir.ComplexType):
        element = element.element_type
    return isinstance(element, ir.IntegerType | ir.FloatType) and bits_of(element) in (2, 4, 8, 16, 32, 64)


def pack(values: Sequence[ir.Value]) -> ir.Value:
    """Builds one flat tensor with the bits of all values, those of one element type side by side, each in order.

    Builds at the current insertion point.
    """
    unit = _unit([value.type for value in values])
    runs: dict[ir.Type, list[ir.Value]] = {}
    for value in values:
        for part in _parts(value):
            runs.setdefault(element_of(part.type), []).append(_flat(_to_bytes(part)))
    return joined([_to_units(run, unit) for run in runs.values()])


class Layout:
    """Knows where `pack` puts values of these types, to take some of them out at a time."""

    def __init__(self, types: Sequence[ir.Type]) -> None:
        self._slots: list[list[_Slot]] = [[] for _ in types]
        parts = [(number, part) for number, value_type in enumerate(types) for part in _part_types(value_type)]
        part_types = [part for _, part in parts]
        unit = bits_of(_unit(types))
        offset = 0
        for element, numbers in _runs(part_types).items():
            stored = _stored(element)
            starts = [0, *itertools.accumulate(elements_of(part_types[number]) for number in numbers)]
            units = starts.pop() * bits_of(stored) // unit
            for number, start in zip(numbers, starts, strict=True):
                owner, part = parts[number]
                self._slots[owner].append(_Slot(part, stored, offset, units, start))
            offset += units

    def unpack(self, flat: ir.Value, numbers: Iterable[int]) -> list[ir.Value]:
        """Builds the values of these numbers, of what `pack` made, at the current insertion point."""
        runs: dict[tuple[int, int], ir.Value] = {}
        values = []
        for number in numbers:
            parts = []
            for slot in self._slots[number]:
                where = slot.offset, slot.units
                if where not in runs:
                    runs[where] = sliced(flat, *where)
                piece = _from_units(runs[where], slot.stored, slot.start, elements_of(slot.part))
                parts.append(_shaped(piece, slot.part))
            values.append(_whole(parts))
        return values


class _Slot(NamedTuple):
    """Says where a part of a value lies: in the run of its element type, which fills a stretch of the flat tensor."""

    part: ir.RankedTensorType
    """The type of the part."""
    stored: ir.Type
    """The element type of the run."""
    offset: int
    """Where the run begins, in elements of the flat tensor."""
    units: int
    """How many elements of the flat tensor the run fills."""
    start: int
    """Where the part begins, in elements of the run."""


def _unit(types: Sequence[ir.Type]) -> ir.Type:
    """Chooses the element type of the flat tensor: the type that all share, else an unsigned integer.

    It is the widest one, no wider than any of them and than 32 bits, of which each type's values fill a whole number:
    the fewer elements the better.
    """
    part_types = [part for value_type in types for part in _part_types(value_type)]
    runs = _runs(part_types)
    if len(runs) == 1:
        return _stored(next(iter(runs)))
    widest = max(bits_of(_stored(element)) for element in runs)
    sizes = [bits_of(_stored(e)) * sum(elements_of(part_types[n]) for n in numbers) for e, numbers in runs.items()]
    width = next(w for w in (32, 16, 8) if w <= widest and not any(size % w for size in sizes))
    return ir.IntegerType.get_unsigned(width)


def _runs(part_types: Sequence[ir.RankedTensorType]) -> dict[ir.Type, list[int]]:
    """Lists the numbers of the parts of each element type, in order of their first."""
    runs: dict[ir.Type, list[int]] = {}
    for number, part_type in enumerate(part_types):
        runs.setdefault(part_type.element_type, []).append(number)
    return runs


def _stored(element: ir.Type) -> ir.Type:
    """Gives what an element is in a run: itself where XLA moves it as it is, else an unsigned integer of its width.

    That integer has a byte at least.
    """
    if is_widened(element) or (isinstance(element, ir.IntegerType) and element.width < _SMALLEST):
        return ir.IntegerType.get_unsigned(max(_SMALLEST, bits_of(element)), element.context)
    return element


def _part_types(value_type: ir.Type) -> list[ir.RankedTensorType]:
    """Gives the type itself; of a complex tensor, its real and its imaginary part."""
    shaped = ir.RankedTensorType(value_type)
    if isinstance(shaped.element_type, ir.ComplexType):
        return [ir.RankedTensorType.get(shaped.shape, shaped.element_type.element_type)] * 2
    return [shaped]


def _parts(value: ir.Value) -> list[ir.Value]:
    if isinstance(element_of(value.type), ir.ComplexType):
        return [stablehlo.real(value), stablehlo.imag(value)]
    return [value]


def _whole(parts: Sequence[ir.Value]) -> ir.Value:
    return parts[0] if len(parts) == 1 else stablehlo.complex(*parts)


def _to_bytes(part: ir.Value) -> ir.Value:
    """Turns a part of a value into what is stored of it."""
    if (narrow := _narrow(part.type)) is not None:
        return stablehlo.convert(with_element(part.type, _stored(element_of(part.type))), _bitcast(part, narrow))
    return _bitcast(part, with_element(part.type, _stored(element_of(part.type))))


def _shaped(piece: ir.Value, part_type: ir.Type) -> ir.Value:
    """Turns a flat piece of what is stored into the part of a value again."""
    shaped = with_element(part_type, _stored(element_of(part_type)))
    if piece.type != shaped:
        piece = stablehlo.reshape(shaped, piece)
    if (narrow := _narrow(part_type)) is not None:
        piece = stablehlo.convert(narrow, piece)
    return _bitcast(piece, part_type)


def _narrow(part_type: ir.Type) -> ir.Type | None:
    """Gives the integers that convert to and from a byte exactly, for elements that fill no byte; bool stays bool."""
    element = element_of(part_type)
    if isinstance(element, ir.IntegerType) and element.width == 1:
        return part_type
    if bits_of(element) >= _SMALLEST:
        return None
    return with_element(part_type, bits_type(element))


def _to_units(run: Sequence[ir.Value], unit: ir.Type) -> ir.Value:
    """Puts flat values of one stored type side by side, as elements of the flat tensor.

    Where one is as wide as a unit they are joined before they are cast: joining is copying memory then.
    """
    stored = element_of(run[0].type)
    if bits_of(stored) == bits_of(unit):
        return _as(joined(run), unit)
    plain = bits_type(stored)
    return to_words([_as(value, plain) for value in run], unit)


def _from_units(units: ir.Value, stored: ir.Type, start: int, size: int) -> ir.Value:
    """Takes `size` elements of a stored type, from `start` on, out of the elements of the flat tensor."""
    if bits_of(stored) == bits_of(element_of(units.type)):
        return _as(sliced(units, start, size), stored)
    return _as(from_words(units, bits_type(stored), start, size), stored)


def _flat(value: ir.Value) -> ir.Value:
    shaped = ir.RankedTensorType(value.type)
    if shaped.rank == 1:
        return value
    return stablehlo.reshape(ir.RankedTensorType.get([elements_of(shaped)], shaped.element_type), value)


def _as(value: ir.Value, element: ir.Type) -> ir.Value:
    """Gives the same bits as elements of another type of the same width."""
    return _bitcast(value, with_element(value.type, element))


def _bitcast(value: ir.Value, target: ir.Type) -> ir.Value:
    return value if value.type == target else stablehlo.bitcast_convert(target, value)
