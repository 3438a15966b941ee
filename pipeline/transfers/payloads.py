"""Makes what the transfer's module takes and gives: single arrays as they are, and small ones packed into one.

An argument or a result of a module over many devices takes jax and XLA about 10 us a device, on either side, in which
a core copies some 64 KiB. So what is smaller is copied into one array first and out of it in the end, by modules of
the sender's and of the receiver's own devices. Those take jax's fast path, since the user's arrays go in and come out.

Inside one module passes/building/packing.py does the same to the operands of permutes. That one builds StableHLO and
this one traces jnp, so they share no code, but what decides is said once: `mlir.types.is_widened` which floats travel
as integers, and `Target.row` how many values a call unpacks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from hloverlap.pipeline.jax_internals.arrays import assembler, local_shards
from hloverlap.pipeline.transfers import transfer_module
from hloverlap.pipeline.transfers.planning import ArrayBoxes, Shape
from hloverlap.pipeline.transfers.routes import TransferSpec, boxes_of, devices_of, is_mine
from hloverlap.pipeline.transfers.unpack_calls import in_calls, results_per_call

_SMALL = 64 << 10  # bytes of a shard that is packed with others

Numbers = Mapping[jax.Device, int]  # the number of something for each device


class Payload(Protocol):
    """One or several of the user's arrays, which are one array to the module."""

    @property
    def members(self) -> Sequence[int]:
        """Gives the numbers of the user's arrays that it holds."""
        ...

    @property
    def shards(self) -> tuple[Numbers, Numbers]:
        """Gives the number of the shard that each of this process's devices holds, on either side."""
        ...

    def boxes(self, position: Numbers) -> ArrayBoxes:
        """Says what the plan must know. position: of each device in the transfer's list."""
        ...

    def pack(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Makes this process's shards of the members."""
        ...

    def unpack(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Makes the members of this process's shards at the other end."""
        ...


def payloads(specs: Sequence[TransferSpec], most_bytes: int) -> list[Payload]:
    """Puts each array in one payload, in the order of the arrays.

    A payload has at most `most_bytes` a device, unless it is a single array.
    """
    groups: dict[object, list[int]] = {}
    for number, spec in enumerate(specs):
        groups.setdefault(_packing_key(spec) if _bytes(spec) <= _SMALL else number, []).append(number)
    found: list[Payload] = []
    for numbers in itertools.chain(*(_split(group, specs, most_bytes) for group in groups.values())):
        found.append(SingleArray(numbers[0], specs[numbers[0]]) if len(numbers) == 1 else PackedArrays(numbers, specs))
    return sorted(found, key=lambda payload: payload.members[0])


class SingleArray:
    """An array that is moved as it is."""

    def __init__(self, number: int, spec: TransferSpec) -> None:
        self.members = (number,)
        self.shards = _local_shards(spec.sides[0], spec.shape), _local_shards(spec.target, spec.shape)
        self._spec = spec
        self._assemble = assembler(spec.shape, spec.dtype, spec.target)

    def boxes(self, position: Numbers) -> ArrayBoxes:
        """Gives the boxes of its shards."""
        source, target = (
            {position[device]: box for device, box in boxes_of(side, self._spec.shape).items()}
            for side in self._spec.sides
        )
        return ArrayBoxes(self._spec.dtype.name, self._spec.dtype.itemsize, source, target, self._spec.donated)

    def pack(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Gives its shards."""
        return local_shards(arrays[0])

    def unpack(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Makes the array of its shards."""
        return [self._assemble(shards)]


class PackedArrays:
    """Arrays of one dtype that go one way: a shard holds the bits of the shards of all members, one after the other."""

    def __init__(self, members: Sequence[int], specs: Sequence[TransferSpec]) -> None:
        self.members = members
        self._specs = [specs[number] for number in members]
        self._shapes = [_shard_shape(spec) for spec in self._specs]
        self._ends = list(itertools.accumulate(map(math.prod, self._shapes), initial=0))
        self._length = self._ends[-1]
        self._dtype = self._specs[0].dtype
        self._packed_dtype = transfer_module.packed_dtype(self._dtype)
        source, target = (_sharded_over_all_axes(side) for side in self._specs[0].sides)
        shape, arrived_shape = ((self._length * len(side.device_set),) for side in (source, target))
        self.shards = _local_shards(source, shape), _local_shards(target, arrived_shape)
        targets = tuple(spec.target for spec in self._specs)
        held = self._specs[0].sides[0]
        self._pack = _jitted_per_shard(self._concatenated, held, source) if is_mine(source) else None
        self._unpack = _jitted_per_shard(self._all_pieces, target, targets) if is_mine(target) else None
        self._assemble = assembler(arrived_shape, self._packed_dtype, target)
        self._elsewhere = [assembler(spec.shape, spec.dtype, spec.target) for spec in self._specs]

    def boxes(self, position: Numbers) -> ArrayBoxes:
        """Gives boxes that say only which devices hold the same, and which shall: they are no parts of one array."""
        source, target = (
            {position[device]: ((number * self._length, (number + 1) * self._length),) for device, number in side}
            for side in _shard_numbers(self._specs[0]) or ()
        )
        return ArrayBoxes(self._packed_dtype.name, self._packed_dtype.itemsize, source, target)

    def pack(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Packs the shards of all members."""
        return local_shards(self._pack(*arrays)) if self._pack else []

    def unpack(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Unpacks the members, on their devices."""
        if self._unpack is None:
            return [assemble([]) for assemble in self._elsewhere]
        many: Sequence[jax.Array] = self._unpack(self._assemble(shards))
        return many

    def _concatenated(self, *shards: jax.Array) -> jax.Array:
        return jnp.concatenate([transfer_module.to_packed(shard).reshape(-1) for shard in shards])

    def _all_pieces(self, shard: jax.Array) -> tuple[jax.Array, ...]:
        device = devices_of(self._specs[0].target)[0]
        return in_calls(self._pieces, shard, len(self._shapes), results_per_call(device))

    def _pieces(self, shard: jax.Array, numbers: Sequence[int]) -> list[jax.Array]:
        pieces = [jax.lax.slice(shard, [self._ends[number]], [self._ends[number + 1]]) for number in numbers]
        return [
            transfer_module.from_packed(piece.reshape(self._shapes[number]), self._dtype)
            for number, piece in zip(numbers, pieces, strict=True)
        ]


def _split(group: Iterable[int], specs: Sequence[TransferSpec], most_bytes: int) -> list[list[int]]:
    """Cuts a group into parts of at most so many bytes a device."""
    parts: list[list[int]] = []
    size = 0
    for number in group:
        if not parts or size + _bytes(specs[number]) > most_bytes:
            parts.append([])
            size = 0
        parts[-1].append(number)
        size += _bytes(specs[number])
    return parts


def _packing_key(spec: TransferSpec) -> object:
    """Gives what is equal for arrays that can be packed together; equal to nothing where shards change on the way."""
    numbers = _shard_numbers(spec) if all(map(_is_plain, spec.sides)) else None
    return object() if numbers is None else (spec.sides, spec.dtype, numbers)


def _shard_numbers(spec: TransferSpec) -> tuple[tuple[tuple[jax.Device, int], ...], ...] | None:
    """Numbers what each device of either side holds, or shall hold; None where a target is no shard of the source."""
    source, target = (boxes_of(side, spec.shape) for side in spec.sides)
    number = {box: n for n, box in enumerate(dict.fromkeys(source.values()))}
    if not number.keys() >= set(target.values()):
        return None
    return tuple(tuple((device, number[box]) for device, box in side.items()) for side in (source, target))


def _local_shards(sharding: Sharding, shape: Shape) -> Numbers:
    return {device: number for number, device in enumerate(sharding.addressable_devices_indices_map(shape))}


def _is_plain(sharding: Sharding) -> bool:
    """Says whether a module with arguments or results of this sharding must be told nothing else."""
    kinds = (None, devices_of(sharding)[0].default_memory().kind)
    return isinstance(sharding, NamedSharding | SingleDeviceSharding) and sharding.memory_kind in kinds


def _bytes(spec: TransferSpec) -> int:
    return spec.dtype.itemsize * math.prod(_shard_shape(spec))


def _shard_shape(spec: TransferSpec) -> Shape:
    """Gives the shape of the source's shards, which is the target's where shards do not change."""
    return spec.sides[0].shard_shape(spec.shape)


def _sharded_over_all_axes(sharding: Sharding) -> Sharding:
    """Gives the sharding of an array of what all devices hold, one after the other."""
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec(sharding.mesh.axis_names))
    return sharding


def _jitted_per_shard(function: Callable[..., Any], source: Sharding, target: Any) -> Callable[..., Any]:
    """Compiles a function of shards for arrays sharded like `source`. target: the sharding of each result."""
    if isinstance(source, NamedSharding):
        out_specs = jax.tree.map(lambda side: side.spec, target)
        function = jax.shard_map(function, mesh=source.mesh, in_specs=source.spec, out_specs=out_specs, check_vma=False)
    return jax.jit(function, out_shardings=target)
