"""Computes a collective matmul over a ring that is used in both directions.

``y = x @ w`` with the rows of x and the columns of w split among the devices. Each device multiplies the rows it holds
while the next ones arrive: the upper half of every block travels forwards and the lower half backwards, so that both
directions of each link carry data. The two permutes of a step are independent of each other and of the step's matmuls.
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
    devices: Sequence[jax.Device], *, rows: int = 1024, depth: int = 512, columns: int = 1024, dtype: Any = jnp.bfloat16
) -> Program:
    """Builds x: dtype[rows, depth], w: dtype[depth, columns] -> f32[rows, columns]. Two permutes in a loop body."""
    size = len(devices)
    half = divide(rows, 2 * size, "rows")
    divide(columns, size, "columns")
    mesh = Mesh(np.array(devices), ("ring",))

    def ring(x: jax.Array, w: jax.Array) -> jax.Array:
        here = jax.lax.axis_index("ring")

        def multiply(step: Any, upper: jax.Array, lower: jax.Array, y: jax.Array) -> jax.Array:
            """Puts the products of the halves that have come ``step`` devices far where they belong in y."""
            for block, owner, offset in ((upper, here - step, 0), (lower, here + step, half)):
                product = jnp.dot(block, w, preferred_element_type=jnp.float32)
                y = jax.lax.dynamic_update_slice(y, product, (owner % size * 2 * half + offset, 0))
            return y

        def body(step: Any, carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            upper, lower, y = carry
            next_upper = jax.lax.ppermute(upper, "ring", shift(size, +1))
            next_lower = jax.lax.ppermute(lower, "ring", shift(size, -1))
            return next_upper, next_lower, multiply(step, upper, lower, y)

        y = jax.lax.pcast(jnp.zeros((rows, w.shape[1]), jnp.float32), "ring", to="varying")
        upper, lower, y = jax.lax.fori_loop(0, size - 1, body, (x[:half], x[half:], y))
        return multiply(size - 1, upper, lower, y)

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
