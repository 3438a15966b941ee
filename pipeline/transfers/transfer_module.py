"""Builds the module that moves slots, and compiles it through a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap.passes.mlir.dtypes import bits_of, is_float, is_widened
from hloverlap.pipeline.jax_jit import aot
from hloverlap.pipeline.transfers.planning import Round, Shape, Slot

AXIS = "device"
_BYTE = 8


def sharding(devices: Sequence[jax.Device]) -> NamedSharding:
    """Gives the sharding of the module's arguments and results: one part a device along the first dimension."""
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(AXIS))


def shard_shape(shape: Shape) -> Shape:
    """Gives the shape that a shard has in the module: a scalar gets a dimension, for there to be one to divide."""
    return shape or (1,)


def module_dtype(dtype: np.dtype) -> np.dtype:
    """Gives the dtype that shards have in the module: what does not fill a byte gets one.

    A compiled module of jax 0.10.2 refuses arrays of int4 that come from the host.
    """
    if bits_of(dtype) >= _BYTE:
        return dtype
    return np.dtype(np.int8 if jnp.issubdtype(dtype, jnp.signedinteger) else np.uint8)


def packed_dtype(dtype: np.dtype) -> np.dtype:
    """Gives the dtype of packed arrays that hold arrays of this dtype."""
    return jax.eval_shape(to_packed, jax.ShapeDtypeStruct((1,), dtype)).dtype


def to_packed(shard: jax.Array) -> jax.Array:
    """Makes of a shard what is packed: the same bits in a dtype of whole bytes that nobody holds in a wider one."""
    return _as_bits(to_module(shard))


def from_packed(shard: jax.Array, dtype: np.dtype) -> jax.Array:
    """Makes of what `to_packed` gave the shard again, in the shape of what it is given."""
    return from_module(_from_bits(shard, module_dtype(dtype)), shard.shape, dtype)


def to_module(shard: jax.Array) -> jax.Array:
    """Makes of a shard what the module takes."""
    if (bits := bits_of(shard.dtype)) < _BYTE:
        if is_float(shard.dtype):
            shard = jax.lax.bitcast_convert_type(shard, jnp.dtype(f"uint{bits}"))
        shard = shard.astype(module_dtype(shard.dtype))
    return shard.reshape(shard_shape(shard.shape))


def from_module(shard: jax.Array, shape: Shape, dtype: np.dtype) -> jax.Array:
    """Makes of what `to_module` gave, or of what the module gave, a shard of this shape and dtype."""
    if (bits := bits_of(dtype)) < _BYTE:
        if is_float(dtype):
            return jax.lax.bitcast_convert_type(shard.astype(f"uint{bits}"), dtype).reshape(shape)
        shard = shard.astype(dtype)
    return shard.reshape(shape)


def global_shape(shape: Shape, devices: int) -> Shape:
    """Gives the global shape of an argument or a result with shards of this shape."""
    first, *rest = shard_shape(shape)
    return (first * devices, *rest)


def compile(slots: Sequence[Slot], devices: Sequence[jax.Device], pipeline: str) -> aot.Rewritten:
    """Compiles the module, which takes and gives an array for each slot. Every process of `devices` must compile it."""
    placement = sharding(devices)

    def transfer(*shards: jax.Array) -> tuple[jax.Array, ...]:
        device = jax.lax.axis_index(AXIS)
        return tuple(_move(shard, slot, device, len(devices)) for shard, slot in zip(shards, slots, strict=True))

    mapped = jax.shard_map(
        transfer, mesh=placement.mesh, in_specs=placement.spec, out_specs=placement.spec, check_vma=False
    )
    # A donated buffer can become a result only where both have one size; of others XLA says that they are of no use.
    donated = [n for n, slot in enumerate(slots) if slot.donated and slot.source_shape == slot.target_shape]
    arguments = [
        jax.ShapeDtypeStruct(
            global_shape(slot.source_shape, len(devices)), module_dtype(jnp.dtype(slot.dtype)), sharding=placement
        )
        for slot in slots
    ]
    return aot.compile(jax.jit(mapped, donate_argnums=donated).lower(*arguments), pipeline)


def _move(shard: jax.Array, slot: Slot, device: jax.Array, devices: int) -> jax.Array:
    """Sends the parts of this device's shard, and makes its target shard of the parts that arrive."""
    target_shape = shard_shape(slot.target_shape)
    held = _as_bits(shard)
    result: jax.Array | None = None
    for round in slot.rounds:
        shape = shard_shape(round.shape)
        part = held
        if shape != held.shape:
            start = _offsets(round, "source", devices)[device]
            part = jax.lax.dynamic_slice(held, list(start), shape)
        if round.pairs:
            part = jax.lax.ppermute(part, AXIS, round.pairs)
        if shape != target_shape:
            before = jnp.zeros(target_shape, held.dtype) if result is None else result
            part = jax.lax.dynamic_update_slice(before, part, list(_offsets(round, "target", devices)[device]))
        receiving = {move.target for move in round.moves}
        if result is not None and not receiving.issuperset(slot.target):
            part = jnp.where(jnp.array([n in receiving for n in range(devices)])[device], part, result)
        result = part
    assert result is not None, "a slot without moves"
    return _from_bits(result, shard.dtype)


def _offsets(round: Round, side: str, devices: int) -> jax.Array:
    """Gives where the part starts, for each device: int32[devices, rank]; zeros for those that have none."""
    table = np.zeros((devices, len(round.shape)), np.int32)
    for move in round.moves:
        table[getattr(move, side)] = getattr(move, f"{side}_offset")
    return jnp.array(table)


def _as_bits(x: jax.Array) -> jax.Array:
    """Makes integers of floats that XLA may hold in wider ones."""
    return jax.lax.bitcast_convert_type(x, jnp.dtype(f"uint{bits_of(x.dtype)}")) if is_widened(x.dtype) else x


def _from_bits(x: jax.Array, dtype: np.dtype) -> jax.Array:
    return x if x.dtype == dtype else jax.lax.bitcast_convert_type(x, dtype)
