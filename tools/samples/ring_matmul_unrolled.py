"""Computes the two-direction ring collective matmul without a loop, and with small shards.

Every matmul multiplies by the same weight. XLA:GPU's dot merger joins matmuls that share an operand, up to a size;
joined, they wait for the last transfer, and no transfer has anything left to hide behind. With
``xla_gpu_dot_merger_threshold_mb=0`` the overlap comes back. Written in a loop (``ring_matmul``) it never goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide, shift


def build(
    devices: Sequence[jax.Device],
    *,
    rows: int = 2048,
    depth: int = 1024,
    columns: int = 1024,
    dtype: Any = jnp.bfloat16,
) -> Program:
    """Builds x: dtype[rows, depth], w: dtype[depth, columns] -> f32[rows, columns], of 2 * (devices - 1) permutes."""
    size = len(devices)
    half = divide(rows, 2 * size, "rows")
    divide(columns, size, "columns")
    mesh = Mesh(np.array(devices), ("ring",))

    def ring(x: jax.Array, w: jax.Array) -> jax.Array:
        here = jax.lax.axis_index("ring")
        y = jax.lax.pcast(jnp.zeros((rows, w.shape[1]), jnp.float32), "ring", to="varying")
        upper, lower = x[:half], x[half:]
        for step in range(size):
            for block, owner, offset in ((upper, here - step, 0), (lower, here + step, half)):
                product = jnp.dot(block, w, preferred_element_type=jnp.float32)
                y = jax.lax.dynamic_update_slice(y, product, (owner % size * 2 * half + offset, 0))
            if step < size - 1:
                upper = jax.lax.ppermute(upper, "ring", shift(size, +1))
                lower = jax.lax.ppermute(lower, "ring", shift(size, -1))
        return y

    x_spec, w_spec = P("ring", None), P(None, "ring")
    return Program(
        function=jax.shard_map(ring, mesh=mesh, in_specs=(x_spec, w_spec), out_specs=w_spec),
        args=(
            jax.ShapeDtypeStruct((rows, depth), dtype, sharding=NamedSharding(mesh, x_spec)),
            jax.ShapeDtypeStruct((depth, columns), dtype, sharding=NamedSharding(mesh, w_spec)),
        ),
        reference=lambda x, w: x.astype(np.float32) @ w.astype(np.float32),
        tolerance=1e-4,
    )
