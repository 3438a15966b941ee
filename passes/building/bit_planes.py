"""Turns a row of unsigned integers into words of another width, by copies, shifts and ors alone.

Where elements are narrower than a word, the row is cut into equal planes, and word i holds element i of each, that of
the first plane in its lowest bits. Where they are wider, the words are the lowest parts of all, then the next ones, and
so on. A cast of the memory would put an element's neighbours into its word; that is a lookup for each element on
XLA:CPU (it expands the cast, and shares the loop out to threads), while planes are a few vector instructions: unpacking
128 KiB of four types on four devices took 618 us by casts and 464 by planes, with jaxlib 0.12.0 on two cores.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.mlir.types import element_of, elements_of

# XLA:CPU computes at most so many operands of a concatenate in the loop that joins them (kMaxConcatenateArguments in
# its cpu_instruction_fusion.cc); each further one is a loop of its own.
_MOST_PIECES = 8


def to_words(parts: Sequence[ir.Value], word: ir.IntegerType) -> ir.Value:
    """Builds the words that hold the elements of all parts, in order.

    parts: flat tensors of one unsigned integer type; together they fill a whole number of words.
    """
    width, element = word.width, _element(parts[0])
    if element.width > width:
        planes = range(element.width // width)
        return joined([_converted(_bits_from(part, plane * width, width), word) for plane in planes for part in parts])
    ratio = width // element.width
    length = sum(map(_size, parts)) // ratio
    segments = _segments(parts, length)
    if len(segments) > max(_MOST_PIECES, len(parts) // ratio):
        parts, segments = [joined(parts)], [(0, length)]
    starts = [0, *itertools.accumulate(map(_size, parts))]
    words = []
    for start, end in segments:
        pieces = [_piece(parts, starts, plane * length + start, end - start) for plane in range(ratio)]
        words.append(_stacked([_converted(piece, word) for piece in pieces], element.width))
    return joined(words)


def from_words(words: ir.Value, element: ir.IntegerType, start: int, size: int) -> ir.Value:
    """Builds the elements [start, start + size) of the row that `to_words` made `words` of."""
    width, count = _element(words).width, _size(words)
    if element.width > width:
        ratio = element.width // width
        pieces = [sliced(words, plane * (count // ratio) + start, size) for plane in range(ratio)]
        return _stacked([_converted(piece, element) for piece in pieces], width)
    pieces = []
    for plane in range(width // element.width):
        first, last = max(start, plane * count), min(start + size, (plane + 1) * count)
        if first < last:
            piece = sliced(words, first - plane * count, last - first)
            pieces.append(_converted(_bits_from(piece, plane * element.width, element.width), element))
    return joined(pieces or [_converted(sliced(words, 0, 0), element)])


def joined(values: Sequence[ir.Value]) -> ir.Value:
    """Builds one flat tensor of several of one type."""
    return values[0] if len(values) == 1 else stablehlo.concatenate(values, 0)


def sliced(flat: ir.Value, start: int, size: int) -> ir.Value:
    """Builds the elements [start, start + size) of a flat tensor."""
    return flat if size == _size(flat) else stablehlo.slice(flat, [start], [start + size], [1])


def _segments(parts: Sequence[ir.Value], length: int) -> list[tuple[int, int]]:
    """Cuts the words so that the elements of each lie, in each plane, in one part; gives (start, end) of each cut."""
    starts = itertools.accumulate(map(_size, parts), initial=0)
    cuts = sorted({0, length} | {start % length for start in starts} if length else {0})
    return list(itertools.pairwise(cuts)) or [(0, 0)]


def _piece(parts: Sequence[ir.Value], starts: Sequence[int], start: int, size: int) -> ir.Value:
    """Builds the elements of the row that lie in one part. starts: where each part starts in the row."""
    number = min(bisect.bisect_right(starts, start), len(parts)) - 1
    return sliced(parts[number], start - starts[number], size)


def _stacked(planes: Sequence[ir.Value], width: int) -> ir.Value:
    """Builds each word from a word of each plane, of which only the lowest `width` bits are in use."""
    whole = planes[0]
    for number, plane in enumerate(planes[1:], 1):
        whole = stablehlo.or_(whole, stablehlo.shift_left(plane, _splat(plane, number * width)))
    return whole


def _bits_from(value: ir.Value, start: int, count: int) -> ir.Value:
    """Keeps, of each integer, so many bits from one on; the others become 0."""
    if start:
        value = stablehlo.shift_right_logical(value, _splat(value, start))
    if start + count < _element(value).width:
        value = stablehlo.and_(value, _splat(value, (1 << count) - 1))
    return value


def _splat(like: ir.Value, number: int) -> ir.Value:
    element = _element(like)
    attribute = ir.DenseElementsAttr.get_splat(like.type, ir.IntegerAttr.get(element, number))
    return stablehlo.constant(attribute)


def _converted(value: ir.Value, element: ir.Type) -> ir.Value:
    """Converts integers to another width; every value must be one that `element` can hold."""
    return stablehlo.convert(ir.RankedTensorType.get([_size(value)], element), value)


def _element(flat: ir.Value) -> ir.IntegerType:
    return ir.IntegerType(element_of(flat.type))


def _size(flat: ir.Value) -> int:
    return elements_of(flat.type)
