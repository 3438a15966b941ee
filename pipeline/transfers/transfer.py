"""A compiled transfer of arrays with given shapes and shardings, ready to run on arrays like them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from hloverlap.pipeline import compiling
from hloverlap.pipeline.transfers import planning, program
from hloverlap.pipeline.transfers.planning import Box, Lane, Leaf, Shape

# Merging is all there is to do: no compute stands beside the permutes.
PIPELINE = "canonicalize-permutes,merge-cross-host-transfers"

_STRUCTURES = 256  # compiled transfers that are kept


_Fill = Callable[[Shape, str, jax.Device], jax.Array]


@dataclasses.dataclass(frozen=True)
class Path:
    """One array's way. Paths that are equal on all processes give the same modules on all of them."""

    shape: Shape
    dtype: np.dtype
    source: Sharding
    target: Sharding
    donated: bool


@dataclasses.dataclass(frozen=True)
class Part:
    """One module and the lanes that it moves. rewritten: None where this process owns none of the devices."""

    lanes: Sequence[Lane]
    rewritten: compiling.Rewritten | None


@dataclasses.dataclass(frozen=True)
class Transfer:
    """Moves arrays along `paths`, in as many calls of XLA as there are parts. devices: of all paths, by id."""

    paths: tuple[Path, ...]
    devices: tuple[jax.Device, ...]
    parts: tuple[Part, ...]

    def __call__(self, arrays: Sequence[jax.Array]) -> list[jax.Array]:
        """The arrays with their target shardings. Every process that owns one of the devices must call it.

        On CPU it returns when all is done: two modules in flight there may take each other's messages.
        """
        arrived: list[list[jax.Array]] = [[] for _ in arrays]
        for part in self.parts:
            if part.rewritten is not None:
                self._run(part, part.rewritten, arrays, arrived)
        return [
            jax.make_array_from_single_device_arrays(path.shape, path.target, shards, dtype=path.dtype)
            for path, shards in zip(self.paths, arrived, strict=True)
        ]

    def _run(
        self,
        part: Part,
        rewritten: compiling.Rewritten,
        arrays: Sequence[jax.Array],
        arrived: list[list[jax.Array]],
    ) -> None:
        fill = functools.cache(_zeros)  # of one size one is enough
        moved = rewritten(*[self._argument(lane, arrays, _zeros if lane.donated else fill) for lane in part.lanes])
        for lane, array in zip(part.lanes, moved, strict=True):
            for device, shard in self._local(array):
                if device in lane.target:
                    number = lane.target[device]
                    arrived[number].append(shard if self.paths[number].shape else shard.reshape(()))
        if self.devices[0].platform == "cpu":
            jax.block_until_ready(moved)

    def _argument(self, lane: Lane, arrays: Sequence[jax.Array], fill: _Fill) -> jax.Array:
        shape = program.local(lane.source_shape)
        shards: list[jax.Array] = []
        held = {number: dict(self._local(arrays[number])) for number in dict.fromkeys(lane.source.values())}
        for device, owner in enumerate(self.devices):
            if owner.process_index == jax.process_index():
                number = lane.source.get(device)
                shard = fill(shape, lane.dtype, owner) if number is None else held[number][device]
                shards.append(shard if shard.ndim else shard.reshape(shape))
        whole = program.stacked(lane.source_shape, len(self.devices))
        return jax.make_array_from_single_device_arrays(whole, self._placement, shards)

    def _local(self, array: jax.Array) -> list[tuple[int, jax.Array]]:
        """The position of each device of this process that holds a part of the array, and the part."""
        return [(self._position[shard.device], shard.data) for shard in array.addressable_shards]

    @functools.cached_property
    def _position(self) -> dict[jax.Device, int]:
        return {device: position for position, device in enumerate(self.devices)}

    @functools.cached_property
    def _placement(self) -> Sharding:
        return program.sharding(self.devices)


def _zeros(shape: Shape, dtype: str, device: jax.Device) -> jax.Array:
    return jax.device_put(np.zeros(shape, jnp.dtype(dtype)), device)


@functools.lru_cache(maxsize=_STRUCTURES)
def transfer(paths: tuple[Path, ...], chunk_bytes: int) -> Transfer:
    """Plans and compiles, once for the same paths. Every process must call it with the same paths in one order."""
    together = {device for path in paths for side in (path.source, path.target) for device in side.device_set}
    devices = tuple(sorted(together, key=lambda device: device.id))
    position = {device: number for number, device in enumerate(devices)}
    leaves = [_leaf(path, position) for path in paths]
    lanes = planning.lanes(leaves, [device.process_index for device in devices])
    takes_part = any(device.process_index == jax.process_index() for device in devices)
    return Transfer(
        paths,
        devices,
        tuple(
            Part(part, program.compile(part, devices, PIPELINE) if takes_part else None)
            for part in planning.chunks(lanes, chunk_bytes)
        ),
    )


def _leaf(path: Path, position: dict[jax.Device, int]) -> Leaf:
    source, target = (boxes(side, path.shape) for side in (path.source, path.target))
    return Leaf(
        dtype=path.dtype.name,
        itemsize=path.dtype.itemsize,
        source={position[device]: box for device, box in source.items()},
        target={position[device]: box for device, box in target.items()},
        donated=path.donated,
    )


def boxes(sharding: Sharding, shape: Shape) -> dict[jax.Device, Box]:
    """The part of an array of this shape that each device holds. Raises ValueError where it cannot be divided so."""
    sharding.shard_shape(shape)
    return {
        device: tuple(part.indices(size)[:2] for part, size in zip(index, shape, strict=True))
        for device, index in sorted(sharding.devices_indices_map(shape).items(), key=lambda item: item[0].id)
    }
