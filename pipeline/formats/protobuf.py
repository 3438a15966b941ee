"""Reads as much of the protobuf wire format as it takes to find the HloModuleProto in what XLA dumps.

XLA wraps it: HloProto.hlo_module, HloSnapshot.hlo.hlo_module, HloUnoptimizedSnapshot.hlo_module and
HloModuleProtoWithConfig.hlo_module are all field 1, so field 1 is followed down until it holds a name instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from hloverlap.passes.errors import HloverlapError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DEEPEST_WRAPPING = 3

# Fields of HloModuleProto and DeviceAssignmentProto (xla/service/hlo.proto, xla/xla_data.proto).
_INNER, _NAME, _ENTRY_NAME, _COMPUTATIONS, _DEVICE_ASSIGNMENT = 1, 1, 2, 3, 15
_REPLICA_COUNT, _COMPUTATION_COUNT = 1, 2


class MalformedError(HloverlapError):
    """Says that bytes are no protobuf, or cut off; the text says which."""


def fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Gives each field's number and value, in order; fixed-size numbers come as their bytes. Raises MalformedError."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        wire = key & 7
        if key >> 3 == 0:
            raise MalformedError("it holds a field with number 0")
        if wire == _VARINT:
            number, position = _varint(message, position)
            yield key >> 3, number
            continue
        if wire == _BYTES:
            size, position = _varint(message, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise MalformedError(f"it holds a field of the unknown wire type {wire}")
        if size > len(message) - position:
            raise MalformedError(f"it ends {size - (len(message) - position)} bytes too early")
        yield key >> 3, message[position : position + size]
        position += size


def is_hlo(data: bytes) -> bool:
    """Says whether `data` starts as an HloModuleProto does, bare or wrapped; the rest may be damaged or missing."""
    view = memoryview(data)
    for _ in range(_DEEPEST_WRAPPING):
        if _is_module(view):
            return True
        if not len(view) or view[0] != 0x0A:  # field 1, bytes
            return False
        try:
            size, start = _varint(view, 1)
        except MalformedError:
            return False
        view = view[start : start + size]
    return False


def hlo_module(data: bytes) -> memoryview:
    """Finds the HloModuleProto in `data`, bare or wrapped. Raises MalformedError."""
    view = memoryview(data)
    for _ in range(_DEEPEST_WRAPPING):
        found = dict(reversed(list(fields(view))))  # the first of each
        if _is_module(view):
            if _COMPUTATIONS not in found:
                raise MalformedError("it ends before its first computation")
            return view
        inner = found.get(_INNER)
        if not isinstance(inner, memoryview):
            break
        view = inner
    raise MalformedError("there is no HLO module in it")


def device_counts(module: memoryview) -> tuple[int, int] | None:
    """Reads (replicas, partitions) of an HloModuleProto with a device assignment, else None. Raises MalformedError."""
    for number, value in fields(module):
        if number == _DEVICE_ASSIGNMENT and isinstance(value, memoryview):
            counts = {key: count for key, count in fields(value) if isinstance(count, int)}
            return counts.get(_REPLICA_COUNT, 1), counts.get(_COMPUTATION_COUNT, 1)
    return None


def _is_module(view: memoryview) -> bool:
    """Says whether the message starts with the module's name and the entry's, both plain text."""
    expected = iter((_NAME, _ENTRY_NAME))
    seen = 0
    try:
        for (number, value), wanted in zip(fields(view), expected, strict=False):
            if number != wanted or not isinstance(value, memoryview) or not _is_name(value):
                return False
            seen += 1
    except MalformedError:
        pass
    return seen == 2


def _is_name(value: memoryview) -> bool:
    try:
        return 0 < len(value) < 4096 and str(value, "utf-8").isprintable()
    except UnicodeDecodeError:
        return False


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    """Reads the number at `position`, and says where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise MalformedError("it ends in the middle of a number")
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise MalformedError("it holds a number of more than 64 bits")
