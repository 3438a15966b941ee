"""A compiled transfer of arrays with given shapes and shardings, ready to run on arrays like them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hloverlap.pipeline import jax_internals
from hloverlap.pipeline.jax_jit import compiling
from hloverlap.pipeline.transfers import consensus, planning, transfer_module
from hloverlap.pipeline.transfers import payloads as loading
from hloverlap.pipeline.transfers.payloads import Load
from hloverlap.pipeline.transfers.planning import Lane, Shape
from hloverlap.pipeline.transfers.routes import Path, devices_of

# Merging is all there is to do: no compute stands beside the permutes.
PIPELINE = "canonicalize-permutes,merge-cross-host-transfers"

_STRUCTURES = 256  # compiled transfers that are kept
_Place = tuple[int, int]
_KEPT_ZEROS = 64 << 10  # bytes of a shard of zeros that is kept from call to call


@functools.lru_cache(maxsize=_STRUCTURES)
def transfer(paths: tuple[Path, ...], chunk_bytes: int) -> Transfer:
    """Plans and compiles, once for the same paths. Every process must call it with the same paths in one order."""
    devices = devices_of(*(side for path in paths for side in path.sides))
    position = {device: number for number, device in enumerate(devices)}
    loads = loading.loads(paths, chunk_bytes)
    lanes = planning.lanes([load.leaf(position) for load in loads], [device.process_index for device in devices])
    if not any(device.process_index == jax.process_index() for device in devices):
        return Transfer(loads, devices, [])
    consensus.check(paths, lanes, devices, chunk_bytes)
    compiled = [
        _Part(lanes, transfer_module.compile(lanes, devices, PIPELINE), loads, devices)
        for lanes in planning.chunks(lanes, chunk_bytes)
    ]
    return Transfer(loads, devices, compiled)


class Transfer:
    """Moves loads between `devices`, in as many calls of XLA as there are parts."""

    def __init__(self, loads: Sequence[Load], devices: Sequence[jax.Device], parts: Sequence[_Part]) -> None:
        self.parts = parts
        self._blocks = devices[0].platform == "cpu"
        self._loads = loads

    def __call__(self, arrays: Sequence[jax.Array]) -> list[jax.Array]:
        """The arrays with their target shardings. Every process that owns one of the devices must call it.

        On CPU it returns when all is done: two modules in flight there may take each other's messages.
        """
        held = [load.enter([arrays[number] for number in load.members]) for load in self._loads]
        arrived: list[Sequence[Any]] = [[None] * len(load.shards[1]) for load in self._loads]
        for part in self.parts:
            moved = part(held, arrived)
            if self._blocks:
                jax.block_until_ready(moved)
        found: dict[int, jax.Array] = {}
        for load, shards in zip(self._loads, arrived, strict=True):
            found |= zip(load.members, load.leave(shards), strict=True)
        return [found[number] for number in range(len(arrays))]


class _Part:
    """One module, and which shard of which array goes in and comes out where.

    What it does in a call is decided here, once: a call takes as long as XLA and jax take to make the arrays.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        rewritten: compiling.Rewritten,
        loads: Sequence[Load],
        devices: Sequence[jax.Device],
    ) -> None:
        self.rewritten = rewritten
        mine = [(n, device) for n, device in enumerate(devices) if device.process_index == jax.process_index()]
        placement = transfer_module.sharding(devices)
        source, target = ([load.shards[n] for load in loads] for n in (0, 1))
        self._ends = [
            _End(
                lane=lane,
                dtype=jnp.dtype(lane.dtype),
                takes=_Places([_place(lane.source.get(n), source, device) for n, device in mine], source),
                gives=_Places([_place(lane.target.get(n), target, device) for n, device in mine], target),
                assemble=jax_internals.assembler(
                    transfer_module.stacked(lane.source_shape, len(devices)),
                    transfer_module.local_dtype(jnp.dtype(lane.dtype)),
                    placement,
                ),
            )
            for lane in lanes
        ]
        self._devices = [device for _, device in mine]
        self._zeros = functools.cache(_zeros)
        self._nothing: dict[int, jax.Array] = {}

    def __call__(self, held: Sequence[Sequence[jax.Array]], arrived: list[Sequence[Any]]) -> Sequence[jax.Array]:
        """held, arrived: by array, then by shard of this process. Gives all that must be there in the end."""
        for_now = functools.cache(_zeros)  # of one size one is enough, unless it is given away
        arguments = []
        for number, end in enumerate(self._ends):
            if end.takes.whole is not None:
                arguments.append(end.argument(held[end.takes.whole]))
            elif number in self._nothing:
                arguments.append(self._nothing[number])
            else:
                is_kept = not end.lane.donated and end.lane.bytes <= _KEPT_ZEROS
                make = _zeros if end.lane.donated else self._zeros if is_kept else for_now
                argument = end.argument(
                    [
                        held[place[0]][place[1]] if place else make(end.lane.source_shape, end.dtype, device)
                        for place, device in zip(end.takes.places, self._devices, strict=True)
                    ]
                )
                if is_kept and not end.takes.any:  # who only receives is spared making it again
                    self._nothing[number] = argument
                arguments.append(argument)
        moved: Sequence[jax.Array] = self.rewritten(*arguments)
        for end, array in zip(self._ends, moved, strict=True):
            if not end.gives.any:  # who only sends is spared taking the result apart
                continue
            shards = end.results(jax_internals.local_shards(array))
            if end.gives.whole is not None:
                arrived[end.gives.whole] = shards
                continue
            for place, shard in zip(end.gives.places, shards, strict=True):
                if place:
                    arrived[place[0]][place[1]] = shard  # type: ignore[index]  # these are lists still
        return moved


class _Places:
    """A place, or None, for each device of this process. A place is an array's number and that of one of its shards.

    any: whether there is one. whole: the array of which all its shards, in order, are the places, and nothing else.
    """

    def __init__(self, places: Sequence[_Place | None], shards: Sequence[Mapping[jax.Device, int]]) -> None:
        self.places = places
        self.any = any(places)
        first = places[0] if places else None
        in_order = first is not None and list(places) == [(first[0], n) for n in range(len(shards[first[0]]))]
        self.whole = first[0] if first is not None and in_order else None


@dataclasses.dataclass(frozen=True)
class _End:
    """This process's end of a lane: whose shards it takes, and whose it gives."""

    lane: Lane
    dtype: np.dtype
    takes: _Places
    gives: _Places
    assemble: Callable[[Sequence[jax.Array]], jax.Array]

    @functools.cached_property
    def _is_odd(self) -> bool:
        """Whether the module takes its shards in another form than they have."""
        return self.lane.source_shape == () or transfer_module.local_dtype(self.dtype) != self.dtype

    def argument(self, shards: Sequence[jax.Array]) -> jax.Array:
        """Of the module, from a shard for each device."""
        return self.assemble([transfer_module.enter(shard) for shard in shards] if self._is_odd else shards)

    def results(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """The shards that arrived, of those of the module's result."""
        if not self._is_odd:
            return shards
        return [transfer_module.leave(shard, self.lane.target_shape, self.dtype) for shard in shards]


def _place(array: int | None, shards: Sequence[Mapping[jax.Device, int]], device: jax.Device) -> _Place | None:
    return None if array is None else (array, shards[array][device])


def _zeros(shape: Shape, dtype: np.dtype, device: jax.Device) -> jax.Array:
    zeros: jax.Array = jax.device_put(np.zeros(shape, dtype), device)
    return zeros
