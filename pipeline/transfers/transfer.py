"""A compiled transfer of arrays with given shapes and shardings, ready to run on arrays like them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
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
_Place = tuple[int, int]
_KEPT_ZEROS = 64 << 10  # bytes of a shard of zeros that is kept from call to call


@functools.lru_cache(maxsize=_STRUCTURES)
def transfer(paths: tuple[Path, ...], chunk_bytes: int) -> Transfer:
    """Plans and compiles, once for the same paths. Every process must call it with the same paths in one order."""
    devices = devices_of(*(side for path in paths for side in _sides(path)))
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
        mine = [(n, device) for n, device in enumerate(devices) if device.process_index == jax.process_index()]
        placement = program.sharding(devices)
        source, target = ([_local_positions(_sides(path)[n], path.shape) for path in paths] for n in (0, 1))
        self._ends = [
            _End(
                lane=lane,
                dtype=jnp.dtype(lane.dtype),
                takes=[_place(lane.source.get(n), source, device) for n, device in mine],
                gives=[_place(lane.target.get(n), target, device) for n, device in mine],
                assemble=versions.assembler(
                    program.stacked(lane.source_shape, len(devices)),
                    program.local_dtype(jnp.dtype(lane.dtype)),
                    placement,
                ),
            )
            for lane in lanes
        ]
        self._devices = [device for _, device in mine]
        self._zeros = functools.cache(_zeros)
        self._nothing: dict[int, jax.Array] = {}

    def __call__(self, held: Sequence[Sequence[jax.Array]], arrived: Sequence[list[Any]]) -> Sequence[jax.Array]:
        """held, arrived: by array, then by shard of this process. Gives all that must be there in the end."""
        for_now = functools.cache(_zeros)  # of one size one is enough, unless it is given away
        arguments = []
        for number, end in enumerate(self._ends):
            lane = end.lane
            if number in self._nothing:
                arguments.append(self._nothing[number])
                continue
            make = _zeros if lane.donated else self._zeros if lane.bytes <= _KEPT_ZEROS else for_now
            shards = [
                held[place[0]][place[1]] if place else make(lane.source_shape, end.dtype, device)
                for place, device in zip(end.takes, self._devices, strict=True)
            ]
            argument = end.assemble([program.enter(shard) for shard in shards] if end.is_odd else shards)
            if make is self._zeros and not any(end.takes):  # who only receives is spared making it again
                self._nothing[number] = argument
            arguments.append(argument)
        moved: Sequence[jax.Array] = self.rewritten(*arguments)
        for end, array in zip(self._ends, moved, strict=True):
            if not any(end.gives):  # who only sends is spared taking the result apart
                continue
            for place, shard in zip(end.gives, versions.local_shards(array), strict=True):
                if place:
                    whole = program.leave(shard, end.lane.target_shape, end.dtype) if end.is_odd else shard
                    arrived[place[0]][place[1]] = whole
        return moved


@dataclasses.dataclass(frozen=True)
class _End:
    """This process's end of a lane. takes, gives: a place, or None, for each of its devices."""

    lane: Lane
    dtype: np.dtype
    takes: Sequence[_Place | None]
    gives: Sequence[_Place | None]
    assemble: Callable[[list[jax.Array]], jax.Array]

    @functools.cached_property
    def is_odd(self) -> bool:
        """Whether the module takes its shards in another form than they have."""
        return self.lane.source_shape == () or program.local_dtype(self.dtype) != self.dtype


def _place(array: int | None, shards: Sequence[dict[jax.Device, int]], device: jax.Device) -> _Place | None:
    return None if array is None else (array, shards[array][device])


def _local_positions(sharding: Sharding, shape: Shape) -> dict[jax.Device, int]:
    """This process's devices of a sharding, and which of an array's shards each holds."""
    return {device: number for number, device in enumerate(sharding.addressable_devices_indices_map(shape))}


def _zeros(shape: Shape, dtype: np.dtype, device: jax.Device) -> jax.Array:
    zeros: jax.Array = jax.device_put(np.zeros(shape, dtype), device)
    return zeros


def _sides(path: Path) -> tuple[Sharding, Sharding]:
    assert path.source is not None, "an array of the host takes no transfer"
    return path.source, path.target


def _leaf(path: Path, position: dict[jax.Device, int]) -> Leaf:
    source, target = (boxes(side, path.shape) for side in _sides(path))
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
