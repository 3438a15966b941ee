"""From a sharding of HLO, which lists devices, to one of Shardy, which names axes of a mesh."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from hloverlap.passes.mlir.meshes import AxisPart, Mesh
from hloverlap.pipeline.partition.question import TiledSharding


class _Digit(NamedTuple):
    """One prime factor of an axis, and so of the number of a device in its mesh."""

    part: AxisPart
    stride: int
    """How far apart two places of the mesh are that differ by one in this digit."""


def spelled(sharding: TiledSharding, rank: int, mesh: Mesh) -> str | None:
    """Writes a sharding as ``[{"a", "b"}, {}]``; None when no axes of the mesh say it."""
    if not sharding.tiles:
        return _text([[] for _ in range(rank)], mesh)
    if len(mesh.device_ids) != len(sharding.devices):
        return None
    copies = len(sharding.devices) // math.prod(sharding.tiles)
    place = {device: number // copies for number, device in enumerate(sharding.devices)}
    tiles = [_unravelled(place[device], sharding.tiles) for device in mesh.device_ids]
    digits = list(_digits(mesh))
    if any(tiles[0]):
        return None
    axes: list[list[AxisPart]] = []
    used: dict[_Digit, tuple[int, int]] = {}  # digit -> its dimension, and by how many tiles it counts there
    for dimension in range(rank):
        moved = [(tiles[digit.stride][dimension], digit) for digit in digits if tiles[digit.stride][dimension]]
        moved.sort(key=lambda pair: pair[0], reverse=True)
        if any(digit in used for _, digit in moved):
            return None
        used |= {digit: (dimension, count) for count, digit in moved}
        axes.append([digit.part for _, digit in moved])
    for number, tile in enumerate(tiles):
        counted = [0] * rank
        for digit, (dimension, count) in used.items():
            counted[dimension] += number // digit.stride % digit.part.size * count
        if counted != list(tile):
            return None
    return _text(axes, mesh)


def _digits(mesh: Mesh) -> Iterator[_Digit]:
    """The prime factors of all axes, the most significant one first."""
    stride = math.prod(mesh.sizes.values())
    for name, size in mesh.sizes.items():
        before = 1
        for prime in _primes(size):
            stride //= prime
            yield _Digit(AxisPart(name, before, prime), stride)
            before *= prime


def _primes(number: int) -> Iterator[int]:
    for candidate in itertools.count(2):
        while number % candidate == 0:
            yield candidate
            number //= candidate
        if number == 1:
            return


def _unravelled(number: int, sizes: tuple[int, ...]) -> list[int]:
    found = []
    for size in reversed(sizes):
        number, place = divmod(number, size)
        found.append(place)
    return found[::-1]


def _text(axes: list[list[AxisPart]], mesh: Mesh) -> str:
    return f"[{', '.join('{' + ', '.join(_joined(parts, mesh)) + '}' for parts in axes)}]"


def _joined(parts: list[AxisPart], mesh: Mesh) -> Iterator[str]:
    """The axes' names, where all parts of one stand in their order; else the parts that there are."""
    joined: list[AxisPart] = []
    for part in parts:
        last = joined[-1] if joined else None
        if last is not None and last.name == part.name and last.before * last.size == part.before:
            joined[-1] = AxisPart(last.name, last.before, last.size * part.size)
        else:
            joined.append(part)
    for part in joined:
        whole = part.size == mesh.sizes[part.name]
        yield f'"{part.name}"' if whole else f'"{part.name}":({part.before}){part.size}'
