"""Writes an all-reduce as a two-direction ring, under ``jax.pmap``.

The first half of each device's values goes round forwards, the second half backwards, and each device adds what passes.
JAX 0.10 and later lower ``pmap`` as ``shard_map``, in partition mode; ``replica_ring.mlir`` is the same ring in the
replica mode of before.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hloverlap.tools.samples.program import Program, divide, shift


def build(devices: Sequence[jax.Device], *, length: int = 1024, dtype: Any = jnp.float32) -> Program:
    """Builds the ring: dtype[devices, length] -> the same shape, every row the sum of all rows.

    It has 2 * (devices - 1) permutes.
    """
    size = len(devices)
    divide(length, 2, "length")

    def ring_all_reduce(x: jax.Array) -> jax.Array:
        forward, backward = jnp.split(x, 2)
        total = x
        for _ in range(size - 1):
            forward = jax.lax.ppermute(forward, "ring", shift(size, +1))
            backward = jax.lax.ppermute(backward, "ring", shift(size, -1))
            total = total + jnp.concatenate([forward, backward])
        return total

    return Program(
        ring_all_reduce,
        (jax.ShapeDtypeStruct((size, length), dtype),),
        lambda x: np.broadcast_to(x.sum(0), x.shape),
        transform=functools.partial(jax.pmap, axis_name="ring", devices=list(devices)),
    )
