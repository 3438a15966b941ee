"""Lists what the benchmark over processes measures: independent permutes by number, size, pairs and dtypes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap.tools.samples.program import shift

KIB, MIB = 1 << 10, 1 << 20
MOST_BYTES = 512 * MIB  # of one case's arguments on all devices together

_AXIS = "device"
_DTYPES = {"f32": (np.float32,), "mixed": (np.float32, jnp.bfloat16, np.int8, np.float16)}


@dataclasses.dataclass(frozen=True)
class Case:
    """Describes independent permutes."""

    pairs: str
    """``ring``, ``chain`` (a ring that is not closed), or ``two-way`` (rings forwards and backwards by turns)."""
    dtypes: str
    """``f32`` or ``mixed``."""
    count: int
    """How many permutes there are."""
    bytes: int
    """Bytes that a device sends in each."""

    def total(self, devices: int) -> int:
        """Counts the bytes of all arguments on so many devices."""
        return self.count * self.bytes * devices


def cases(quick: bool = False) -> list[Case]:
    """Lists all cases, those first that say most when time runs out."""
    return list(_quick() if quick else _full())


def _quick() -> Iterator[Case]:
    yield Case("ring", "f32", 16, 8 * KIB)
    yield Case("ring", "mixed", 16, 256)
    yield Case("two-way", "mixed", 8, 2 * KIB)
    yield Case("chain", "f32", 2, MIB)


def _full() -> Iterator[Case]:
    for size in (8 * KIB, 256, 64 * KIB, MIB, 256 * KIB, 2 * KIB, 32 * KIB, 128 * KIB, 4 * MIB, 16 * MIB):
        for count in (16, 2, 4, 64):
            yield Case("ring", "f32", count, size)
    for size in (8 * KIB, 256, 64 * KIB, MIB):
        for count in (16, 64, 4):
            yield Case("ring", "mixed", count, size)
            yield Case("chain", "f32", count, size)
            yield Case("two-way", "mixed", count, size)
    for size in (256, 8 * KIB, 128 * KIB):
        for count in (8, 32):
            yield Case("ring", "f32", count, size)


class Program:
    """Puts a case on devices: `lower()` it and call what that gives with `arguments`."""

    def __init__(self, case: Case, devices: Sequence[jax.Device]) -> None:
        self._case = case
        self._devices = devices
        self._sharding = NamedSharding(Mesh(np.array(devices), (_AXIS,)), PartitionSpec(_AXIS))
        self._dtypes = [np.dtype(dtype) for dtype in _DTYPES[case.dtypes]]

    def lower(self) -> jax.stages.Lowered:
        """Lowers the permutes, none of which waits for another."""
        pairs = [self._pairs(number) for number in range(self._case.count)]

        def exchange(*blocks: jax.Array) -> list[Any]:
            return [jax.lax.ppermute(block, _AXIS, each) for block, each in zip(blocks, pairs, strict=True)]

        spec = self._sharding.spec
        mapped = jax.shard_map(exchange, mesh=self._sharding.mesh, in_specs=spec, out_specs=spec)
        shapes = [jax.ShapeDtypeStruct(*self._aval(number), sharding=self._sharding) for number in range(len(pairs))]
        return jax.jit(mapped).lower(*shapes)

    def arguments(self) -> list[jax.Array]:
        """Makes whole numbers, the same on all processes in every run; NaNs of bf16 XLA:CPU sends with other bits."""
        return [self._argument(number) for number in range(self._case.count)]

    def _aval(self, number: int) -> tuple[tuple[int], np.dtype]:
        dtype = self._dtypes[number % len(self._dtypes)]
        return (self._case.bytes // dtype.itemsize * len(self._devices),), dtype

    def _argument(self, number: int) -> jax.Array:
        shape, dtype = self._aval(number)

        def part(index: tuple[slice, ...] | None) -> np.ndarray:
            start = (index[0].start if index else 0) or 0
            values = np.random.default_rng((number, start)).integers(
                -100, 100, self._case.bytes // dtype.itemsize, np.int8
            )
            return values.astype(dtype)

        return jax.make_array_from_callback(shape, self._sharding, part, dtype=dtype)

    def _pairs(self, number: int) -> list[tuple[int, int]]:
        size = len(self._devices)
        if self._case.pairs == "chain":
            return shift(size, 1)[:-1]
        return shift(size, -1 if self._case.pairs == "two-way" and number % 2 else 1)
