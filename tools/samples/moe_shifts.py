"""Mixes experts, with the exchange of tokens written as shifts.

One expert lives on each device. A device sends a block of tokens to the experts at each distance, nearer ones getting
larger blocks; with the tokens (bf16) go the slot numbers (int32) that pick a bias at the expert, and the results come
back in f32, where a gate weighs them. The shifts go both ways, do not depend on each other, and differ in size and
dtype: what a group can send in one launch and a packed buffer only by copying.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide, shift

# Distance of the expert -> share of a device's tokens, in quarters of ``tokens``.
SHARES = {0: 4, 1: 2, -1: 2, 2: 1, -2: 1}
SLOTS = 100


def build(
    devices: Sequence[jax.Device], *, tokens: int = 64, width: int = 128, hidden: int = 256, dtype: Any = jnp.bfloat16
) -> Program:
    """Builds the exchange of tokens; for each distance but 0 it has two permutes out and one back.

    x: dtype[all, width], slots: i32[all], gates: f32[all], with all = devices * tokens * 10 / 4;
    w_in: dtype[devices, width, hidden], w_out: dtype[devices, hidden, width], bias: f32[devices, SLOTS, width] ->
    f32[all, width].
    """
    quarter = divide(tokens, 4, "tokens")
    size = len(devices)
    blocks = [quarter * share for share in SHARES.values()]
    cuts = [slice(*ends) for ends in itertools.pairwise([0, *itertools.accumulate(blocks)])]
    mesh = Mesh(np.array(devices), ("expert",))

    def exchange(
        x: jax.Array, slots: jax.Array, gates: jax.Array, w_in: jax.Array, w_out: jax.Array, bias: jax.Array
    ) -> jax.Array:
        def expert(block: jax.Array, slot: jax.Array) -> jax.Array:
            inner = jnp.dot(block, w_in[0], preferred_element_type=jnp.float32) * width**-0.5
            outer = jnp.dot(jax.nn.relu(inner).astype(dtype), w_out[0], preferred_element_type=jnp.float32)
            return outer * hidden**-0.5 + bias[0, slot]

        def send(block: jax.Array, distance: int) -> jax.Array:
            return jax.lax.ppermute(block, "expert", shift(size, distance)) if distance else block

        arrived = [
            (send(x[cut], distance), send(slots[cut], distance)) for distance, cut in zip(SHARES, cuts, strict=True)
        ]
        results = [send(expert(*block), -distance) for distance, block in zip(SHARES, arrived, strict=True)]
        return jnp.concatenate(results) * gates[:, None]

    def reference(
        x: np.ndarray, slots: np.ndarray, gates: np.ndarray, w_in: np.ndarray, w_out: np.ndarray, bias: np.ndarray
    ) -> np.ndarray:
        result = np.zeros(x.shape, np.float32)
        for device in range(size):
            for distance, cut in zip(SHARES, cuts, strict=True):
                rows = np.arange(sum(blocks))[cut] + device * sum(blocks)
                owner = (device + distance) % size
                inner = x[rows].astype(np.float32) @ w_in[owner].astype(np.float32) * width**-0.5
                outer = np.maximum(inner, 0).astype(dtype).astype(np.float32) @ w_out[owner].astype(np.float32)
                result[rows] = (outer * hidden**-0.5 + bias[owner, slots[rows]]) * gates[rows, None]
        return result

    spec = P("expert")
    sharding = NamedSharding(mesh, spec)
    total = size * sum(blocks)
    shapes: tuple[tuple[tuple[int, ...], Any], ...] = (
        ((total, width), dtype),
        ((total,), jnp.int32),
        ((total,), jnp.float32),
        ((size, width, hidden), dtype),
        ((size, hidden, width), dtype),
        ((size, SLOTS, width), jnp.float32),
    )
    return Program(
        jax.shard_map(exchange, mesh=mesh, in_specs=spec, out_specs=spec),
        tuple(jax.ShapeDtypeStruct(shape, kind, sharding=sharding) for shape, kind in shapes),
        reference,
        # A last bit of bf16 may round the other way in the hidden layer.
        tolerance=1e-2,
    )
