"""A compiled transfer of arrays with given shapes and shardings, ready to run on arrays like them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Sharding

from hloverlap.pipeline import compiling, versions
from hloverlap.pipeline.transfers import planning, program
from hloverlap.pipeline.transfers.planning import Box, Lane, Leaf, Shape
from hloverlap.pipeline.transfers.roads import Path, devices_of

# Merging is all there is to do: no compute stands beside the permutes.
PIPELINE = "canonicalize-permutes,merge-cross-host-transfers"

_STRUCTURES = 256  # compiled transfers that are kept


@functools.lru_cache(maxsize=_STRUCTURES)
def transfer(paths: tuple[Path, ...], chunk_bytes: int) -> Transfer:
    """Plans and compiles, once for the same paths. Every process must call it with the same paths in one order."""
    devices = devices_of(*(side for path in paths for side in (path.source, path.target)))
    position = {device: number for number, device in enumerate(devices)}
    lanes = planning.lanes([_leaf(path, position) for path in paths], [device.process_index for device in devices])
    if not any(device.process_index == jax.process_index() for device in devices):
        return Transfer(paths, devices, [])
    compiled = [
        _Part(lanes, program.compile(lanes, devices, PIPELINE), paths, devices)
        for lanes in planning.chunks(lanes, chunk_bytes)
    ]
    return Transfer(paths, devices, compiled)


class Transfer:
    """Moves arrays along `paths` between `devices`, in as many calls of XLA as there are parts."""

    def __init__(self, paths: Sequence[Path], devices: Sequence[jax.Device], parts: Sequence[_Part]) -> None:
        self.parts = parts
        self._blocks = devices[0].platform == "cpu"
        self._sizes = [len(_local_positions(path.target, path.shape)) for path in paths]
        self._assemble = [versions.assembler(path.shape, path.dtype, path.target) for path in paths]

    def __call__(self, arrays: Sequence[jax.Array]) -> list[jax.Array]:
        """The arrays with their target shardings. Every process that owns one of the devices must call it.

        On CPU it returns when all is done: two modules in flight there may take each other's messages.
        """
        held = [versions.local_shards(array) for array in arrays]
        arrived: list[list[Any]] = [[None] * size for size in self._sizes]
        for part in self.parts:
            moved = part(held, arrived)
            if self._blocks:
                jax.block_until_ready(moved)
        return [assemble(shards) for assemble, shards in zip(self._assemble, arrived, strict=True)]


class _Part:
    """One module, and which shard of which array goes in and comes out where.

    A place is the number of an array and that of a shard among those of this process.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        rewritten: compiling.Rewritten,
        paths: Sequence[Path],
        devices: Sequence[jax.Device],
    ) -> None:
        self.rewritten = rewritten
        self._lanes = lanes
        self._local = [(n, device) for n, device in enumerate(devices) if device.process_index == jax.process_index()]
        placement = program.sharding(devices)
        self._assemble = [
            versions.assembler(program.stacked(lane.source_shape, len(devices)), jnp.dtype(lane.dtype), placement)
            for lane in lanes
        ]
        source = [_local_positions(path.source, path.shape) for path in paths]
        target = [_local_positions(path.target, path.shape) for path in paths]
        self._takes = [[_place(lane.source.get(n), source, device) for n, device in self._local] for lane in lanes]
        self._gives = [[_place(lane.target.get(n), target, device) for n, device in self._local] for lane in lanes]

    def __call__(self, held: Sequence[Sequence[jax.Array]], arrived: Sequence[list[Any]]) -> Sequence[jax.Array]:
        """held, arrived: by array, then by shard of this process. Gives all that must be there in the end."""
        fill = functools.cache(_zeros)  # of one size one is enough
        arguments = []
        for lane, places, assemble in zip(self._lanes, self._takes, self._assemble, strict=True):
            shape, make = program.local(lane.source_shape), _zeros if lane.donated else fill
            shards = [
                held[place[0]][place[1]] if place else make(shape, lane.dtype, device)
                for place, (_, device) in zip(places, self._local, strict=True)
            ]
            arguments.append(assemble(shards if lane.source_shape else [shard.reshape(shape) for shard in shards]))
        moved: Sequence[jax.Array] = self.rewritten(*arguments)
        for lane, places, array in zip(self._lanes, self._gives, moved, strict=True):
            if not any(places):  # who only sends is spared taking the result apart
                continue
            for place, shard in zip(places, versions.local_shards(array), strict=True):
                if place:
                    arrived[place[0]][place[1]] = shard if lane.target_shape else shard.reshape(())
        return moved


def _place(array: int | None, shards: Sequence[dict[jax.Device, int]], device: jax.Device) -> tuple[int, int] | None:
    return None if array is None else (array, shards[array][device])


def _local_positions(sharding: Sharding, shape: Shape) -> dict[jax.Device, int]:
    """This process's devices of a sharding, and which of an array's shards each holds."""
    return {device: number for number, device in enumerate(sharding.addressable_devices_indices_map(shape))}


def _zeros(shape: Shape, dtype: str, device: jax.Device) -> jax.Array:
    zeros: jax.Array = jax.device_put(np.zeros(shape, jnp.dtype(dtype)), device)
    return zeros


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
    """The part of an array of this shape that each device holds, by the device's id."""
    indices = sharding.devices_indices_map(shape)
    return {
        device: tuple(part.indices(size)[:2] for part, size in zip(indices[device], shape, strict=True))
        for device in devices_of(sharding)
    }
