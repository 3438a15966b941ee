"""Puts trees of arrays on other devices, whichever hosts these belong to."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Sharding, SingleDeviceSharding

from hloverlap.pipeline.transfers import transfer as transfers
from hloverlap.pipeline.transfers.routes import Route, TransferSpec, route

CHUNK_BYTES = 64 << 20


def device_put(tree: Any, shardings: Any, *, donate: Any = False, chunk_bytes: int = CHUNK_BYTES) -> Any:
    """Puts arrays where `shardings` say, whichever hosts they are on: ``jax.device_put`` for each, in few transfers.

    tree: a pytree of jax.Array; numpy arrays, numbers and arrays that are not committed to a device must be the same
        on every process. Where a process owns no part of an array it still holds the array, as
        ``jax.make_array_from_single_device_arrays`` makes it of [].
    shardings: a jax.sharding.Sharding or a jax.Device for each array, or for each subtree. An array may be cut in
        another way, or be replicated, where it goes to.
    donate: a bool for each array or subtree: arrays that change hosts are deleted, and their memory is used again;
        within one process they are if they leave all their devices.
    chunk_bytes: about how much a device sends, and holds twice, at a time.

    All arrays travel together through one compiled module for each `chunk_bytes`, whose permutes are packed; small ones
    that go the same way are one array there. It needs collectives and nothing else of the backend, and is compiled once
    for the same shapes, dtypes and shardings. What is already in place is returned as it is, and what stays within one
    process never leaves it.

    **Every process that owns a device of any source or target must call it, with the same structure and shardings in
    the same order**, as with any computation on several hosts.

    Raises ValueError for a leaf that cannot be put where it shall be: a sharding that does not divide it, other kinds
    of memory, partial sums, random keys, deleted arrays, devices of another platform. TypeError: no array, no sharding.
    RuntimeError: the processes do not move the same arrays.
    """
    if chunk_bytes < 1:
        raise ValueError(f"chunk_bytes={chunk_bytes} lets nothing through; give at least 1")
    leaves, structure = jax.tree.flatten(tree)
    targets = _broadcast("shardings", shardings, tree, structure)
    donated = _broadcast("donate", donate, tree, structure)
    specs = []
    for number, leaf in enumerate(leaves):
        try:
            targets[number] = _as_sharding(targets[number])
            specs.append(_spec(leaf, targets[number], bool(donated[number])))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{_name(tree, number)}: {error}") from error
    try:
        routes = _by_route(tuple(specs))
    except _NoRouteError as error:
        raise ValueError(f"{_name(tree, error.number)}: {error}") from error

    placed: list[Any] = [None] * len(leaves)
    for number in routes[Route.FROM_HOST]:
        placed[number] = _from_host(leaves[number], targets[number])
    for number in routes[Route.EMPTY]:
        placed[number] = _from_host(np.zeros(leaves[number].shape, leaves[number].dtype), targets[number])
    for number in routes[Route.STAYS]:
        placed[number] = _resharded_in_place(leaves[number], targets[number])
    if across := routes[Route.ACROSS]:
        transfer = transfers.transfer(tuple(specs[n] for n in across), chunk_bytes)
        _fill(placed, across, transfer([leaves[n] for n in across]))
    within = routes[Route.WITHIN]
    if mine := [n for n in within if leaves[n].is_fully_addressable]:
        # Not donate=: after it, is_deleted of an array that went to another device of its process ends the process.
        aliasing = [False if donated[n] else None for n in mine]
        _fill(placed, mine, jax.device_put([leaves[n] for n in mine], [targets[n] for n in mine], may_alias=aliasing))
    for number in within:
        if placed[number] is None:  # it is another process's
            placed[number] = _resharded_in_place(leaves[number], targets[number])
    for number in (*across, *within):
        if donated[number] and not _may_share(leaves[number], placed[number]):
            leaves[number].delete()
    return jax.tree.unflatten(structure, placed)


def _broadcast(what: str, prefix: Any, tree: Any, structure: Any) -> list[Any]:
    """Gives the leaf of `prefix` for each leaf of a tree of this structure."""
    leaves, given = jax.tree.flatten(prefix)
    if given == structure:  # as with lists of hundreds of arrays, where jax.tree.broadcast takes its time
        return leaves
    try:
        return jax.tree.leaves(jax.tree.broadcast(prefix, tree))
    except ValueError as error:
        why = str(error).split("\n", 1)[0]
        raise ValueError(f"{what}: give one for all, or a tree that begins like that of the arrays: {why}") from error


def _name(tree: Any, number: int) -> str:
    path, _ = jax.tree_util.tree_flatten_with_path(tree)[0][number]
    return jax.tree_util.keystr(path) or "the array"


def _as_sharding(target: Any) -> Sharding:
    if isinstance(target, jax.Device):
        return SingleDeviceSharding(target)
    if not isinstance(target, Sharding):
        raise TypeError(f"a {type(target).__name__} is no place to put it; give a Sharding or a Device")
    return target


def _spec(leaf: Any, target: Sharding, donated: bool) -> TransferSpec:
    if isinstance(leaf, jax.core.Tracer):
        raise TypeError("it is being traced; device_put moves arrays between computations, not within one")
    if not isinstance(leaf, jax.Array):
        if not isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex):
            raise TypeError(f"a {type(leaf).__name__} is no array")
        return TransferSpec(np.shape(leaf), np.asarray(leaf).dtype, None, target, donated)
    if leaf.is_deleted():
        raise ValueError("the array was deleted or donated")
    # An array that is not committed is on a device by chance, on another one in each process.
    source = leaf.sharding if leaf.committed or jax.process_count() == 1 else None
    return TransferSpec(leaf.shape, leaf.dtype, source, target, donated)


class _NoRouteError(Exception):
    """Says that there is no route for an array."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number
        """The array's number."""


@functools.lru_cache(maxsize=256)
def _by_route(specs: tuple[TransferSpec, ...]) -> dict[Route, list[int]]:
    """Gives the numbers of the arrays that take each route. Raises _NoRouteError."""
    routes: dict[Route, list[int]] = {each: [] for each in Route}
    for number, spec in enumerate(specs):
        try:
            routes[route(spec)].append(number)
        except ValueError as error:
            raise _NoRouteError(number, str(error)) from error
    return routes


def _resharded_in_place(leaf: jax.Array, target: Sharding) -> jax.Array:
    """Gives the same buffers under another sharding; none where they are another process's."""
    if leaf.sharding == target:
        return leaf
    held = {shard.device: shard.data for shard in leaf.addressable_shards}
    shards = [held[device] for device in target.addressable_devices_indices_map(leaf.shape) if device in held]
    return jax.make_array_from_single_device_arrays(leaf.shape, target, shards, dtype=leaf.dtype)


def _may_share(leaf: jax.Array, placed: jax.Array) -> bool:
    """Says whether a shard that did not change devices may be the same buffer. Those that a module has made are not."""
    return (
        leaf.is_fully_addressable
        and placed.is_fully_addressable
        and not leaf.sharding.device_set.isdisjoint(placed.sharding.device_set)
    )


def _from_host(leaf: Any, target: Sharding) -> jax.Array:
    """Puts a value that every process has."""
    if target.is_fully_addressable:
        placed: jax.Array = jax.device_put(leaf, target)
        return placed
    value = np.asarray(leaf)
    value = value.astype(jax.dtypes.canonicalize_dtype(value.dtype), copy=False)
    return jax.make_array_from_callback(value.shape, target, lambda index: value[index], dtype=value.dtype)


def _fill(placed: list[Any], numbers: Sequence[int], arrays: Sequence[jax.Array]) -> None:
    for number, array in zip(numbers, arrays, strict=True):
        placed[number] = array
