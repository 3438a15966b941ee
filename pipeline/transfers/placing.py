"""device_put for trees of arrays that change hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, Sharding, SingleDeviceSharding

from hloverlap.pipeline.transfers import transfer as transfers
from hloverlap.pipeline.transfers.transfer import Path

CHUNK_BYTES = 64 << 20


def device_put(tree: Any, shardings: Any, *, donate: Any = False, chunk_bytes: int = CHUNK_BYTES) -> Any:
    """Puts arrays where `shardings` say, whichever hosts they are on: ``jax.device_put`` for each, in few transfers.

    tree: a pytree of jax.Array; numpy arrays and numbers must be the same on every process. Where a process owns no
        part of an array it still holds the array, as ``jax.make_array_from_single_device_arrays`` makes it of [].
    shardings: a jax.sharding.Sharding or a jax.Device for each array, or for each subtree. An array may be cut in
        another way, or be replicated, where it goes to.
    donate: a bool for each array or subtree: arrays that move are deleted, and their memory is used again.
    chunk_bytes: about how much a device sends, and holds twice, at a time.

    All arrays travel together through one compiled module for each `chunk_bytes`, whose permutes are packed; it needs
    collectives and nothing else of the backend. It is compiled once for the same shapes, dtypes and shardings. What
    is already in place is returned as it is, and what stays within one process never leaves it.

    **Every process that owns a device of any source or target must call it, with the same structure and shardings in
    the same order**, as with any computation on several hosts.

    Raises ValueError for a leaf that cannot be put where it shall be: a sharding that does not divide it, other kinds
    of memory, partial sums, random keys, deleted arrays, devices of another platform. TypeError: no array, no sharding.
    """
    if chunk_bytes < 1:
        raise ValueError(f"chunk_bytes={chunk_bytes} lets nothing through; give at least 1")
    with_names, structure = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path) or "the array" for path, _ in with_names]
    leaves = [leaf for _, leaf in with_names]
    given = _broadcast("shardings", shardings, tree)
    targets = [_as_sharding(name, each) for name, each in zip(names, given, strict=True)]
    donated = [bool(each) for each in _broadcast("donate", donate, tree)]
    for name, leaf, target in zip(names, leaves, targets, strict=True):
        _check(name, leaf, target)

    placed: list[Any] = [None] * len(leaves)
    within: list[int] = []
    across: list[int] = []
    for number, (leaf, target) in enumerate(zip(leaves, targets, strict=True)):
        if not _is_global(leaf):
            placed[number] = _from_host(leaf, target)
        elif _in_place(leaf, target):
            placed[number] = _relabelled(leaf, target)
        elif leaf.size == 0:
            placed[number] = _from_host(np.zeros(leaf.shape, leaf.dtype), target)
        else:
            alone = len({device.process_index for device in leaf.sharding.device_set | target.device_set}) == 1
            (within if alone else across).append(number)
    if across:
        paths = tuple(
            Path(leaves[n].shape, leaves[n].dtype, leaves[n].sharding, targets[n], donated[n]) for n in across
        )
        moved = transfers.transfer(paths, chunk_bytes)([leaves[n] for n in across])
        for number, array in zip(across, moved, strict=True):
            placed[number] = array
    _put_within([n for n in within if leaves[n].is_fully_addressable], leaves, targets, donated, placed)
    for number in within:
        if not leaves[number].is_fully_addressable:  # it is another process's
            placed[number] = _relabelled(leaves[number], targets[number])
    for number in (*across, *within):
        if donated[number]:
            leaves[number].delete()
    return jax.tree.unflatten(structure, placed)


def _broadcast(what: str, prefix: Any, tree: Any) -> list[Any]:
    try:
        return jax.tree.leaves(jax.tree.broadcast(prefix, tree))
    except ValueError as error:
        raise ValueError(
            f"{what} must be one for all arrays, or a tree that begins like the arrays': {error}"
        ) from error


def _as_sharding(name: str, target: Any) -> Sharding:
    if isinstance(target, jax.Device):
        return SingleDeviceSharding(target)
    if not isinstance(target, Sharding):
        raise TypeError(f"{name}: a {type(target).__name__} is no place to put it; give a Sharding or a Device")
    return target


def _check(name: str, leaf: Any, target: Sharding) -> None:
    if not isinstance(leaf, jax.Array):
        if not isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex):
            raise TypeError(f"{name}: a {type(leaf).__name__} is no array")
    elif isinstance(leaf, jax.core.Tracer):
        raise TypeError(f"{name}: it is being traced; device_put moves arrays between computations, not within one")
    elif leaf.is_deleted():
        raise ValueError(f"{name}: the array was deleted or donated")
    elif jnp.issubdtype(leaf.dtype, jax.dtypes.extended):
        raise ValueError(f"{name}: {leaf.dtype} is made of other arrays; move jax.random.key_data of it")
    else:
        _check_sides(name, leaf.sharding, target)
    try:
        target.shard_shape(np.shape(leaf))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _check_sides(name: str, source: Sharding, target: Sharding) -> None:
    if source.memory_kind != target.memory_kind:
        raise ValueError(
            f"{name}: it is in memory of kind {source.memory_kind} and cannot go to kind {target.memory_kind} on the "
            "way; move it with jax.device_put before or after"
        )
    if len(kinds := {device.platform for device in source.device_set | target.device_set}) > 1:
        raise ValueError(f"{name}: no computation spans the platforms {' and '.join(sorted(kinds))}")
    for side in (source, target):
        if isinstance(side, NamedSharding) and getattr(side.spec, "unreduced", None):
            raise ValueError(f"{name}: partial sums ({side.spec}) cannot be moved as they are; add them up before")


def _is_global(leaf: Any) -> bool:
    """Whether a leaf lives on devices that its sharding names to all processes; else each process has its own copy."""
    return isinstance(leaf, jax.Array) and (leaf.committed or jax.process_count() == 1)


def _in_place(leaf: jax.Array, target: Sharding) -> bool:
    """Whether every device that shall have a part of the array has that part."""
    if leaf.sharding == target:
        return True
    if not leaf.sharding.device_set >= target.device_set:
        return False
    held = leaf.sharding.devices_indices_map(leaf.shape)
    return all(held[device] == index for device, index in target.devices_indices_map(leaf.shape).items())


def _relabelled(leaf: jax.Array, target: Sharding) -> jax.Array:
    """The same buffers under another sharding; none where they are another process's."""
    if leaf.sharding == target:
        return leaf
    shards = [shard.data for shard in leaf.addressable_shards if shard.device in target.device_set]
    return jax.make_array_from_single_device_arrays(leaf.shape, target, shards, dtype=leaf.dtype)


def _from_host(leaf: Any, target: Sharding) -> jax.Array:
    """An array of which every process has the whole."""
    if target.is_fully_addressable:
        return jax.device_put(leaf, target)
    value = np.asarray(leaf)
    value = value.astype(jax.dtypes.canonicalize_dtype(value.dtype), copy=False)
    return jax.make_array_from_callback(value.shape, target, lambda index: value[index], dtype=value.dtype)


def _put_within(
    numbers: Sequence[int],
    leaves: Sequence[Any],
    targets: Sequence[Sharding],
    donated: Sequence[bool],
    placed: list[Any],
) -> None:
    # Not donate=: after it, is_deleted of an array that went to another device of its process ends the process.
    moved = jax.device_put(
        [leaves[n] for n in numbers],
        [targets[n] for n in numbers],
        may_alias=[False if donated[n] else None for n in numbers],
    )
    for number, array in zip(numbers, moved, strict=True):
        placed[number] = array
