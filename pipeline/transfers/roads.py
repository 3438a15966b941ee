"""Which way an array goes from one sharding to another, and what has no way at all."""

from __future__ import annotations

import enum
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding

from hloverlap.pipeline.transfers.planning import Shape


class Path(NamedTuple):  # hashed and compared in every call, which a tuple does fastest
    """One array's way. Paths that are equal on all processes give the same modules on all of them."""

    shape: Shape
    dtype: np.dtype
    source: Sharding
    target: Sharding
    donated: bool


class Road(enum.Enum):
    """STAYS: every target device has its part already. WITHIN: one process owns all devices. ACROSS: several do.

    EMPTY: an array without elements. FROM_HOST: no array of jax that all processes see, but a value that each has.
    """

    FROM_HOST = enum.auto()
    EMPTY = enum.auto()
    STAYS = enum.auto()
    WITHIN = enum.auto()
    ACROSS = enum.auto()


@functools.lru_cache(maxsize=1 << 14)
def road(path: Path) -> Road:
    """The road of an array. Raises ValueError, with a sentence for the user, where there is none."""
    source, target = path.source, path.target
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
    check_divides(path.shape, target)
    if _stays(path):
        return Road.STAYS
    if 0 in path.shape:
        return Road.EMPTY
    return Road.WITHIN if len({device.process_index for device in devices}) == 1 else Road.ACROSS


def devices_of(*shardings: Sharding) -> list[jax.Device]:
    """The devices of all these shardings, by id: in one order on all processes."""
    together: Any = {device for sharding in shardings for device in sharding.device_set}
    return sorted(together, key=lambda device: device.id)


def check_divides(shape: Shape, sharding: Sharding) -> None:
    """Raises ValueError where a sharding cuts an array of this shape into unequal parts."""
    sharding.shard_shape(shape)


def _stays(path: Path) -> bool:
    if path.source == path.target:
        return True
    if not path.source.device_set >= path.target.device_set:
        return False
    held = path.source.devices_indices_map(path.shape)
    return all(held[device] == index for device, index in path.target.devices_indices_map(path.shape).items())
