"""The module that moves lanes, compiled by way of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap.passes.mlir.dtypes import bits_of, is_float, is_widened
from hloverlap.pipeline.jax_jit import compiling
from hloverlap.pipeline.transfers.planning import Lane, Round, Shape

AXIS = "device"
_BYTE = 8


def sharding(devices: Sequence[jax.Device]) -> NamedSharding:
    """Of an argument or a result of the module: one part a device along the first dimension."""
    return NamedSharding(Mesh(np.array(devices), (AXIS,)), PartitionSpec(AXIS))


def local(shape: Shape) -> Shape:
    """What a shard of this shape is to the module: a scalar has a dimension, for there to be one to divide."""
    return shape or (1,)


def local_dtype(dtype: np.dtype) -> np.dtype:
    """Of what shards of this dtype are made for the module: what does not fill a byte gets one.

    A compiled module of jax 0.10.2 refuses arrays of int4 that come from the host.
    """
    if bits_of(dtype) >= _BYTE:
        return dtype
    return np.dtype(np.int8 if jnp.issubdtype(dtype, jnp.signedinteger) else np.uint8)


def carried_dtype(dtype: np.dtype) -> np.dtype:
    """Of what arrays of this dtype are made to be moved in a bundle."""
    return jax.eval_shape(carried, jax.ShapeDtypeStruct((1,), dtype)).dtype


def carried(shard: jax.Array) -> jax.Array:
    """A shard as it is moved in a bundle: the same bits in a dtype of whole bytes that nobody holds in a wider one."""
    return _as_bits(enter(shard))


def uncarried(shard: jax.Array, dtype: np.dtype) -> jax.Array:
    """The opposite, of the shape that it has."""
    return leave(_from_bits(shard, local_dtype(dtype)), shard.shape, dtype)


def enter(shard: jax.Array) -> jax.Array:
    """A shard as the module takes it."""
    if (bits := bits_of(shard.dtype)) < _BYTE:
        if is_float(shard.dtype):
            shard = jax.lax.bitcast_convert_type(shard, jnp.dtype(f"uint{bits}"))
        shard = shard.astype(local_dtype(shard.dtype))
    return shard.reshape(local(shard.shape))


def leave(shard: jax.Array, shape: Shape, dtype: np.dtype) -> jax.Array:
    """The opposite."""
    if (bits := bits_of(dtype)) < _BYTE:
        if is_float(dtype):
            return jax.lax.bitcast_convert_type(shard.astype(f"uint{bits}"), dtype).reshape(shape)
        shard = shard.astype(dtype)
    return shard.reshape(shape)


def stacked(shape: Shape, devices: int) -> Shape:
    """The global shape of a lane with such shards."""
    first, *rest = local(shape)
    return (first * devices, *rest)


def compile(lanes: Sequence[Lane], devices: Sequence[jax.Device], pipeline: str) -> compiling.Rewritten:
    """From one array for each lane to one array for each lane. Every process of `devices` must compile it."""
    placement = sharding(devices)

    def transfer(*shards: jax.Array) -> tuple[jax.Array, ...]:
        device = jax.lax.axis_index(AXIS)
        return tuple(_move(shard, lane, device, len(devices)) for shard, lane in zip(shards, lanes, strict=True))

    mapped = jax.shard_map(
        transfer, mesh=placement.mesh, in_specs=placement.spec, out_specs=placement.spec, check_vma=False
    )
    # A donated buffer can become a result only where both have one size; of others XLA says that they are of no use.
    donated = [n for n, lane in enumerate(lanes) if lane.donated and lane.source_shape == lane.target_shape]
    arguments = [
        jax.ShapeDtypeStruct(
            stacked(lane.source_shape, len(devices)), local_dtype(jnp.dtype(lane.dtype)), sharding=placement
        )
        for lane in lanes
    ]
    return compiling.compile(jax.jit(mapped, donate_argnums=donated).lower(*arguments), pipeline)


def _move(shard: jax.Array, lane: Lane, device: jax.Array, devices: int) -> jax.Array:
    """Sends the parts of this device's shard, and makes its target shard of the parts that arrive."""
    target_shape = local(lane.target_shape)
    held = _as_bits(shard)
    result: jax.Array | None = None
    for round in lane.rounds:
        shape = local(round.shape)
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
        if result is not None and not receiving.issuperset(lane.target):
            part = jnp.where(jnp.array([n in receiving for n in range(devices)])[device], part, result)
        result = part
    assert result is not None, "a lane without moves"
    return _from_bits(result, shard.dtype)


def _offsets(round: Round, side: str, devices: int) -> jax.Array:
    """Where the part starts, for each device: int32[devices, rank]; zeros for those that have none."""
    table = np.zeros((devices, len(round.shape)), np.int32)
    for move in round.moves:
        table[getattr(move, side)] = getattr(move, f"{side}_offset")
    return jnp.array(table)


def _as_bits(x: jax.Array) -> jax.Array:
    """Floats that XLA may hold in wider ones, as integers."""
    return jax.lax.bitcast_convert_type(x, jnp.dtype(f"uint{bits_of(x.dtype)}")) if is_widened(x.dtype) else x


def _from_bits(x: jax.Array, dtype: np.dtype) -> jax.Array:
    return x if x.dtype == dtype else jax.lax.bitcast_convert_type(x, dtype)
