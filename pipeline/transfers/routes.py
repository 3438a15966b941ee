"""Which way an array goes from one sharding to another, and what has no way at all."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding

from hloverlap.pipeline.transfers.planning import Box, Shape


class Path(NamedTuple):  # hashed and compared in every call, which a tuple does fastest
    """One array's way. Paths that are equal on all processes give the same modules on all of them."""

    shape: Shape
    dtype: np.dtype
    source: Sharding | None  # None: every process has the whole array
    target: Sharding
    donated: bool

    @property
    def sides(self) -> tuple[Sharding, Sharding]:
        """Source and target of an array that is on devices."""
        assert self.source is not None, "an array of the host takes no transfer"
        return self.source, self.target


class Road(enum.Enum):
    """STAYS: every target device has its part already. WITHIN: one process owns all devices. ACROSS: several do.

    EMPTY: an array without elements. FROM_HOST: no array of jax that all processes see, but a value that each has.
    """

    FROM_HOST = enum.auto()
    EMPTY = enum.auto()
    STAYS = enum.auto()
    WITHIN = enum.auto()
    ACROSS = enum.auto()


def road(path: Path) -> Road:
    """The road of an array. Raises ValueError, with a sentence for the user, where there is none."""
    source, target = path.source, path.target
    if source is None:
        target.shard_shape(path.shape)
        return Road.FROM_HOST
    if jnp.issubdtype(path.dtype, jax.dtypes.extended):
        raise ValueError(f"{path.dtype} is made of other arrays; move jax.random.key_data of it")
    if source.memory_kind != target.memory_kind:
        raise ValueError(
            f"it is in memory of kind {source.memory_kind} and cannot change to kind {target.memory_kind} on the way; "
            "use jax.device_put for that before or after"
        )
    devices = devices_of(source, target)
    if len(platforms := sorted({device.platform for device in devices})) > 1:
        raise ValueError(f"no computation spans the platforms {' and '.join(platforms)}")
    for side in (source, target):
        if isinstance(side, NamedSharding) and getattr(side.spec, "unreduced", None):
            raise ValueError(f"partial sums ({side.spec}) cannot be moved as they are; add them up before")
    target.shard_shape(path.shape)  # raises where it cuts the array into unequal parts
    if _stays(path.shape, source, target):
        return Road.STAYS
    if 0 in path.shape:
        return Road.EMPTY
    return Road.WITHIN if len({device.process_index for device in devices}) == 1 else Road.ACROSS


def devices_of(*shardings: Sharding) -> list[jax.Device]:
    """The devices of all these shardings, by id: in one order on all processes."""
    together: Any = {device for sharding in shardings for device in sharding.device_set}
    return sorted(together, key=lambda device: device.id)


def boxes(sharding: Sharding, shape: Shape) -> dict[jax.Device, Box]:
    """The part of an array of this shape that each device holds, by the device's id."""
    indices = sharding.devices_indices_map(shape)
    return {
        device: tuple(part.indices(size)[:2] for part, size in zip(indices[device], shape, strict=True))
        for device in devices_of(sharding)
    }


def is_mine(sharding: Sharding) -> bool:
    """Whether a device of it is this process's."""
    return any(device.process_index == jax.process_index() for device in devices_of(sharding))


def _stays(shape: Shape, source: Sharding, target: Sharding) -> bool:
    if source == target:
        return True
    if not source.device_set >= target.device_set:
        return False
    held = source.devices_indices_map(shape)
    return all(held[device] == index for device, index in target.devices_indices_map(shape).items())
