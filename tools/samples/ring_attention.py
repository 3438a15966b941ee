"""Computes attention over a sequence that is split among the devices of a ring.

Each device keeps its queries; keys and values go round. A running maximum and denominator make the softmax exact
without ever holding a whole row of scores. Keys and values travel the same way over the same pairs, both at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide, shift

SPEC = P(None, "ring", None, None)


def attention(mesh: Mesh) -> Callable[..., jax.Array]:
    """Makes (q, k, v) -> out, each [batch, sequence, heads, width] with the sequence split over the ring."""
    size = mesh.size

    def ring(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        batch, length, heads, width = q.shape
        scaled = q * width**-0.5

        def attend(k: jax.Array, v: jax.Array, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
            """Takes one block of keys and values into the sum, the denominator and the maximum of each query."""
            total, denominator, maximum = state
            scores = jnp.einsum("bqhd,bkhd->bhqk", scaled, k, preferred_element_type=jnp.float32)
            highest = jnp.maximum(maximum, scores.max(-1))
            weights = jnp.exp(scores - highest[..., None])
            shrink = jnp.exp(maximum - highest)
            seen = jnp.einsum("bhqk,bkhd->bhqd", weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
            return total * shrink[..., None] + seen, denominator * shrink + weights.sum(-1), highest

        def step(carry: Any, _: None) -> tuple[Any, None]:
            k, v, state = carry
            next_k = jax.lax.ppermute(k, "ring", shift(size, +1))
            next_v = jax.lax.ppermute(v, "ring", shift(size, +1))
            return (next_k, next_v, attend(k, v, state)), None

        zeros = jnp.zeros((batch, heads, length), jnp.float32)
        start = (jnp.zeros((batch, heads, length, width), jnp.float32), zeros, zeros - jnp.inf)
        varying = jax.tree.map(lambda x: jax.lax.pcast(x, "ring", to="varying"), start)
        (k, v, state), _ = jax.lax.scan(step, (k, v, varying), length=size - 1)
        total, denominator, _ = attend(k, v, state)
        return jnp.einsum("bhqd->bqhd", total / denominator[..., None])

    return jax.shard_map(ring, mesh=mesh, in_specs=(SPEC, SPEC, SPEC), out_specs=SPEC)


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Computes plain softmax attention."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result: np.ndarray = np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)
    return result


def build(
    devices: Sequence[jax.Device],
    *,
    batch: int = 1,
    sequence: int = 512,
    heads: int = 4,
    width: int = 32,
    dtype: Any = jnp.float32,
) -> Program:
    """Builds the attention: q, k, v: dtype[batch, sequence, heads, width] -> f32 of that shape.

    It has two permutes in a loop body.
    """
    divide(sequence, len(devices), "the sequence")
    mesh = Mesh(np.array(devices), ("ring",))
    block = jax.ShapeDtypeStruct((batch, sequence, heads, width), dtype, sharding=NamedSharding(mesh, SPEC))
    tolerance = 1e-5 if dtype == jnp.float32 else 2e-2
    return Program(attention(mesh), (block, block, block), reference, tolerance)
