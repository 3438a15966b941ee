"""What the transfer's module carries: arrays as they are, and small ones together as one.

An argument or a result of a module over many devices takes jax and XLA about 10 us a device, on either side, in which
a core copies some 64 KiB. So what is smaller is copied into one array first and out of it in the end, by modules of
the sender's and of the receiver's own devices. Those take jax's fast path, since the user's arrays go in and come out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from hloverlap.pipeline import jax_internals
from hloverlap.pipeline.transfers import transfer_module
from hloverlap.pipeline.transfers.planning import Leaf, Shape
from hloverlap.pipeline.transfers.routes import Path, boxes, devices_of, is_mine
from hloverlap.pipeline.transfers.rows import in_rows, row_of

_SMALL = 64 << 10  # bytes of a shard

Position = Mapping[jax.Device, int]  # or number of something else


class Load(Protocol):
    """One array to the module."""

    @property
    def members(self) -> Sequence[int]:
        """The numbers of the user's arrays that it holds."""
        ...

    @property
    def shards(self) -> tuple[Position, Position]:
        """For each side this process's devices, and the number of the shard that each holds."""
        ...

    def leaf(self, position: Position) -> Leaf:
        """What the plan must know. position: of each device in the transfer's list."""
        ...

    def enter(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """This process's shards, of the members."""
        ...

    def leave(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """The members, of this process's shards at the other end."""
        ...


def loads(paths: Sequence[Path], most_bytes: int) -> list[Load]:
    """All arrays, each in one load; none of more than `most_bytes` a device unless an array is. In a fixed order."""
    groups: dict[object, list[int]] = {}
    for number, path in enumerate(paths):
        groups.setdefault(_way(path) if _bytes(path) <= _SMALL else number, []).append(number)
    found: list[Load] = []
    for numbers in itertools.chain(*(_filled(group, paths, most_bytes) for group in groups.values())):
        found.append(Alone(numbers[0], paths[numbers[0]]) if len(numbers) == 1 else Bundle(numbers, paths))
    return sorted(found, key=lambda load: load.members[0])


class Alone:
    """An array as it is."""

    def __init__(self, number: int, path: Path) -> None:
        self.members = (number,)
        self.shards = _local_shards(path.sides[0], path.shape), _local_shards(path.target, path.shape)
        self._path = path
        self._assemble = jax_internals.assembler(path.shape, path.dtype, path.target)

    def leaf(self, position: Position) -> Leaf:
        """Its boxes."""
        source, target = (
            {position[device]: box for device, box in boxes(side, self._path.shape).items()}
            for side in self._path.sides
        )
        return Leaf(self._path.dtype.name, self._path.dtype.itemsize, source, target, self._path.donated)

    def enter(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Its shards."""
        return jax_internals.local_shards(arrays[0])

    def leave(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """Itself, of its shards."""
        return [self._assemble(shards)]


class Bundle:
    """Arrays of one dtype that go one way: each shard is that of all members, one behind the other."""

    def __init__(self, members: Sequence[int], paths: Sequence[Path]) -> None:
        self.members = members
        self._paths = [paths[number] for number in members]
        self._shapes = [_shard_shape(path) for path in self._paths]
        self._ends = list(itertools.accumulate(map(math.prod, self._shapes), initial=0))
        self._length = self._ends[-1]
        self._dtype = self._paths[0].dtype
        self._carried = transfer_module.carried_dtype(self._dtype)
        source, target = (_stacked(side) for side in self._paths[0].sides)
        shape, arrived_shape = ((self._length * len(side.device_set),) for side in (source, target))
        self.shards = _local_shards(source, shape), _local_shards(target, arrived_shape)
        targets = tuple(path.target for path in self._paths)
        self._pack = _on_shards(self._one, self._paths[0].sides[0], source) if is_mine(source) else None
        self._unpack = _on_shards(self._many, target, targets) if is_mine(target) else None
        self._assemble = jax_internals.assembler(arrived_shape, self._carried, target)
        self._nothing = [jax_internals.assembler(path.shape, path.dtype, path.target) for path in self._paths]

    def leaf(self, position: Position) -> Leaf:
        """Boxes that say which devices hold the same and which shall, for they are no parts of one array."""
        source, target = (
            {position[device]: ((number * self._length, (number + 1) * self._length),) for device, number in side}
            for side in _contents(self._paths[0]) or ()
        )
        return Leaf(self._carried.name, self._carried.itemsize, source, target)

    def enter(self, arrays: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """The shards of all, together."""
        return jax_internals.local_shards(self._pack(*arrays)) if self._pack else []

    def leave(self, shards: Sequence[jax.Array]) -> Sequence[jax.Array]:
        """The members, taken apart on their devices."""
        if self._unpack is None:
            return [assemble([]) for assemble in self._nothing]
        many: Sequence[jax.Array] = self._unpack(self._assemble(shards))
        return many

    def _one(self, *shards: jax.Array) -> jax.Array:
        return jnp.concatenate([transfer_module.carried(shard).reshape(-1) for shard in shards])

    def _many(self, shard: jax.Array) -> tuple[jax.Array, ...]:
        device = devices_of(self._paths[0].target)[0]
        return in_rows(self._some, shard, len(self._shapes), row_of(device))

    def _some(self, shard: jax.Array, numbers: Sequence[int]) -> list[jax.Array]:
        pieces = [jax.lax.slice(shard, [self._ends[number]], [self._ends[number + 1]]) for number in numbers]
        return [
            transfer_module.uncarried(piece.reshape(self._shapes[number]), self._dtype)
            for number, piece in zip(numbers, pieces, strict=True)
        ]


def _filled(group: Iterable[int], paths: Sequence[Path], most_bytes: int) -> list[list[int]]:
    """A group in parts of at most so many bytes a device."""
    parts: list[list[int]] = []
    size = 0
    for number in group:
        if not parts or size + _bytes(paths[number]) > most_bytes:
            parts.append([])
            size = 0
        parts[-1].append(number)
        size += _bytes(paths[number])
    return parts


def _way(path: Path) -> object:
    """Equal for arrays that one bundle can hold; equal to nothing where shards change on the way."""
    contents = _contents(path) if all(map(_is_plain, path.sides)) else None
    return object() if contents is None else (path.sides, path.dtype, contents)


def _contents(path: Path) -> tuple[tuple[tuple[jax.Device, int], ...], ...] | None:
    """For each device of either side the number of what it holds, or shall; None where that is not a whole shard."""
    source, target = (boxes(side, path.shape) for side in path.sides)
    number = {box: n for n, box in enumerate(dict.fromkeys(source.values()))}
    if not number.keys() >= set(target.values()):
        return None
    return tuple(tuple((device, number[box]) for device, box in side.items()) for side in (source, target))


def _local_shards(sharding: Sharding, shape: Shape) -> Position:
    return {device: number for number, device in enumerate(sharding.addressable_devices_indices_map(shape))}


def _is_plain(sharding: Sharding) -> bool:
    """Whether a module with arguments or results sharded like this needs nothing said but that."""
    kinds = (None, devices_of(sharding)[0].default_memory().kind)
    return isinstance(sharding, NamedSharding | SingleDeviceSharding) and sharding.memory_kind in kinds


def _bytes(path: Path) -> int:
    return path.dtype.itemsize * math.prod(_shard_shape(path))


def _shard_shape(path: Path) -> Shape:
    """On both sides, where shards do not change."""
    return path.sides[0].shard_shape(path.shape)


def _stacked(sharding: Sharding) -> Sharding:
    """Of an array of the shards that all devices hold of others, behind one another."""
    if isinstance(sharding, NamedSharding):
        return NamedSharding(sharding.mesh, PartitionSpec(sharding.mesh.axis_names))
    return sharding


def _on_shards(function: Callable[..., Any], source: Sharding, target: Any) -> Callable[..., Any]:
    """Compiles what is said of shards for arrays sharded like `source`. target: for each result."""
    if isinstance(source, NamedSharding):
        specs = jax.tree.map(lambda side: side.spec, target)
        function = jax.shard_map(function, mesh=source.mesh, in_specs=source.spec, out_specs=specs, check_vma=False)
    return jax.jit(function, out_shardings=target)
