"""Computes gradients of ring attention with respect to queries, keys and values.

``jax.grad`` turns the ring of ``ring_attention`` round: the gradients of keys and values travel backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hloverlap.tools.samples import ring_attention
from hloverlap.tools.samples.program import Program


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, ...]:
    """Computes the gradients of ``sum(attention(q, k, v) * weight)``, by hand."""
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scale = q.shape[-1] ** -0.5
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = np.einsum("bqhd,bkhd->bhqk", weight, v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return (
        np.einsum("bhqk,bkhd->bqhd", ds, k),
        np.einsum("bhqk,bqhd->bkhd", ds, q),
        np.einsum("bhqk,bqhd->bkhd", p, weight),
    )


def build(
    devices: Sequence[jax.Device],
    *,
    batch: int = 1,
    sequence: int = 512,
    heads: int = 4,
    width: int = 32,
    dtype: Any = jnp.float32,
) -> Program:
    """Builds q, k, v: dtype[batch, sequence, heads, width] and f32 weights of the output -> gradients of q, k and v.

    It has two permutes in the body of the loop and two in the body of its gradient's.
    """
    forward = ring_attention.build(devices, batch=batch, sequence=sequence, heads=heads, width=width, dtype=dtype)
    q, k, v = forward.args

    def loss(q: jax.Array, k: jax.Array, v: jax.Array, weight: jax.Array) -> jax.Array:
        return jnp.sum(forward.function(q, k, v) * weight)

    weight = jax.ShapeDtypeStruct(q.shape, jnp.float32, sharding=q.sharding)
    return Program(jax.grad(loss, argnums=(0, 1, 2)), (q, k, v, weight), reference, forward.tolerance)
