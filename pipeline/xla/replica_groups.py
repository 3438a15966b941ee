"""Reads the replica groups of a collective in XLA's text."""

from __future__ import annotations

import itertools
import math
import re

_GROUP = re.compile(r"\{([\d,\s]*)\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")


def device_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """Gives the groups of ``{{0,1},{2,3}}`` or ``[2,4]<=[4,2]T(1,0)``; () for one of all devices, or another form."""
    if text.startswith("{"):
        groups = (tuple(map(int, match.split(","))) for match in _GROUP.findall(text) if match.strip())
        return tuple(groups)
    iota = _IOTA.match(text)
    if iota is None:
        return ()
    shape, dims = _numbers(iota[1]), _numbers(iota[2])
    order = _numbers(iota[3]) if iota[3] else tuple(range(len(dims)))
    strides = [math.prod(dims[index + 1 :]) for index in range(len(dims))]
    spans = [range(0, dims[axis] * strides[axis], strides[axis]) for axis in order]
    devices = [sum(parts) for parts in itertools.product(*spans)]
    size = shape[-1]
    return tuple(tuple(devices[start : start + size]) for start in range(0, len(devices), size))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))
