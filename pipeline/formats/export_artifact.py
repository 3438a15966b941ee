"""Finds the module inside a jax.export artifact, and replaces it without touching any other byte of its meaning.

An artifact is a FlatBuffer whose root table has the VHLO bytecode of the module as a vector of bytes. Everything else
(trees, avals, shardings, effects, platforms, the calling convention, the artifacts of the vjp) stays as jax wrote it,
so that this needs neither jax nor its schema, and artifacts of other versions of jax keep their own fields.
"""

from __future__ import annotations

import dataclasses
import struct

from hloverlap.passes.errors import HloverlapError

# Where the root table's vtable has `mlir_module_serialized`. FlatBuffers never move a field that has been given out.
MODULE_SLOT = 30

_MAGIC = b"ML\xefR"
_LARGEST_VTABLE, _LARGEST_TABLE = 512, 2048  # bytes; jax's have 58 and about 120
_LARGEST_BUFFER = 2**31 - 1  # offsets of a FlatBuffer have 32 bits, and its readers treat them as signed


class MalformedError(HloverlapError):
    """Says that an artifact is cut off or damaged."""


@dataclasses.dataclass(frozen=True)
class _Span:
    """Says where the module lies in the artifact, as offsets."""

    field: int
    """Where the offset to the vector is."""
    vector: int
    """Where the vector's length is."""
    start: int
    """Where the module's bytes begin."""
    end: int
    """Where the module's bytes end."""


def is_artifact(data: bytes) -> bool:
    """Says whether the root table is that of an artifact; the module may be damaged or missing."""
    try:
        span = _find(data)
    except (struct.error, MalformedError):
        return False
    return span.start + len(_MAGIC) > len(data) or data.startswith(_MAGIC, span.start)


def module_of(data: bytes) -> bytes:
    """Gives the module, a portable artifact. Raises MalformedError."""
    span = _checked(data)
    return data[span.start : span.end]


def with_module(data: bytes, module: bytes) -> bytes:
    """Makes the artifact with `module` in place of its own.

    What does not fit where the old one was goes to the end, and zeros remain in the old place: every offset in a
    FlatBuffer is relative, so that nothing else may move. A second replacement takes the end again and adds nothing.
    Raises MalformedError, also when the result is too long for a FlatBuffer.
    """
    span = _checked(data)
    if data[span.start : span.end] == module:
        return data
    last = span.end == len(data)
    body = bytearray(data[: span.vector] if last else data)
    if last or len(module) > span.end - span.start:
        if not last:
            body[span.vector : span.end] = bytes(span.end - span.vector)
        body += bytes(-len(body) % 4)
        vector = len(body)
        body += struct.pack("<I", len(module)) + module
        struct.pack_into("<I", body, span.field, vector - span.field)
    else:
        old_size = span.end - span.start
        struct.pack_into("<I", body, span.vector, len(module))
        body[span.start : span.end] = module + bytes(old_size - len(module))
    if len(body) > _LARGEST_BUFFER:
        raise MalformedError("with the new module it would be larger than the 2 GiB of a FlatBuffer")
    return bytes(body)


def _checked(data: bytes) -> _Span:
    try:
        span = _find(data)
    except struct.error:
        raise MalformedError("its tables are cut off") from None
    if span.end > len(data):
        raise MalformedError(f"it ends {span.end - len(data)} bytes too early")
    if not data.startswith(_MAGIC, span.start):
        raise MalformedError("there is no module where it says")
    return span


def _find(data: bytes) -> _Span:
    """Follows the root table to the module; the module itself may lie beyond the end."""
    (table,) = struct.unpack_from("<I", data, 0)
    (back,) = struct.unpack_from("<i", data, table)
    vtable = table - back
    if not 4 <= vtable < len(data):
        raise MalformedError("its root table has no vtable")
    vtable_size, table_size = struct.unpack_from("<HH", data, vtable)
    if vtable_size % 2 or not MODULE_SLOT < vtable_size <= _LARGEST_VTABLE or table_size > _LARGEST_TABLE:
        raise MalformedError("its root table is not that of an artifact")
    (offset,) = struct.unpack_from("<H", data, vtable + MODULE_SLOT)
    if not 4 <= offset < table_size:
        raise MalformedError("its root table has no module")
    field = table + offset
    vector = field + struct.unpack_from("<I", data, field)[0]
    if vector + 4 > len(data):
        return _Span(field, vector, vector + 4, vector + 5)
    start = vector + 4
    return _Span(field, vector, start, start + struct.unpack_from("<I", data, vector)[0])
