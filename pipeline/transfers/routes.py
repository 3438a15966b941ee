"""Chooses the route by which an array goes from one sharding to another, or says why there is none."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding

from hloverlap.pipeline.transfers.planning import Box, Shape


class TransferSpec(NamedTuple):  # hashed and compared in every call, which a tuple does fastest
    """Says what an array is, where it is and where it shall be.

    Equal specs on all processes give equal modules on all.
    """

    shape: Shape
    dtype: np.dtype
    source: Sharding | None  # None: every process has the whole array
    target: Sharding
    donated: bool

    @property
    def sides(self) -> tuple[Sharding, Sharding]:
        """Gives source and target of an array that is on devices."""
        assert self.source is not None, "an array of the host takes no transfer"
        return self.source, self.target


class Route(enum.Enum):
    """Says how an array gets to its target."""

    FROM_HOST = enum.auto()
    """It is no array that all processes see, but a value that each of them has."""
    EMPTY = enum.auto()
    """It has no elements."""
    STAYS = enum.auto()
    """Every target device holds its part already."""
    WITHIN = enum.auto()
    """One process owns all devices."""
    ACROSS = enum.auto()
    """Several processes own the devices."""


def route(spec: TransferSpec) -> Route:
    """Chooses the route. Raises ValueError, with a sentence for the user, where there is none."""
    source, target = spec.source, spec.target
    # Before all that depends on where it is: a key that is on no device in particular must not pass on some processes.
    if jnp.issubdtype(spec.dtype, jax.dtypes.extended):
        raise ValueError(f"{spec.dtype} is made of other arrays; move jax.random.key_data of it")
    if source is None:
        target.shard_shape(spec.shape)
        return Route.FROM_HOST
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
    target.shard_shape(spec.shape)  # raises where it cuts the array into unequal parts
    if _is_in_place(spec.shape, source, target):
        return Route.STAYS
    if 0 in spec.shape:
        return Route.EMPTY
    return Route.WITHIN if len({device.process_index for device in devices}) == 1 else Route.ACROSS


def devices_of(*shardings: Sharding) -> list[jax.Device]:
    """Gives the devices of all these shardings by their ids: in one order on all processes."""
    devices: Any = {device for sharding in shardings for device in sharding.device_set}
    return sorted(devices, key=lambda device: device.id)


def boxes_of(sharding: Sharding, shape: Shape) -> dict[jax.Device, Box]:
    """Gives the part of an array of this shape that each device holds, in the order of the devices' ids."""
    indices = sharding.devices_indices_map(shape)
    return {
        device: tuple(part.indices(size)[:2] for part, size in zip(indices[device], shape, strict=True))
        for device in devices_of(sharding)
    }


def is_mine(sharding: Sharding) -> bool:
    """Says whether this process owns a device of the sharding."""
    return any(device.process_index == jax.process_index() for device in devices_of(sharding))


def _is_in_place(shape: Shape, source: Sharding, target: Sharding) -> bool:
    if source == target:
        return True
    if not source.device_set >= target.device_set:
        return False
    held = source.devices_indices_map(shape)
    return all(held[device] == index for device, index in target.devices_indices_map(shape).items())
