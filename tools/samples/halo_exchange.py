"""Steps a stencil on a field that is split over a 2-D mesh, with halos and corners from all eight neighbours.

Each step sends four edges and four corners at once, works on the inner points meanwhile, and does the border when the
halos are there. The field is periodic. On a mesh axis of two devices both neighbours are the same device, so the two
directions have one set of pairs in two orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide

# Nine different weights, so that a halo on the wrong side shows. They add up to 1.
WEIGHTS = np.array([[1, 2, 3], [4, 10, 5], [6, 7, 8]], np.float32) / 46


def stencil(field: Any) -> Any:
    """Sums each inner point and its eight neighbours with weights: [h + 2, w + 2] -> [h, w]."""
    height, width = field.shape[0] - 2, field.shape[1] - 2
    total = 0.0
    for y in range(3):
        for x in range(3):
            total = total + WEIGHTS[y, x] * field[y : y + height, x : x + width]
    return total


def build(
    devices: Sequence[jax.Device],
    *,
    height: int = 256,
    width: int = 256,
    steps: int = 4,
    mesh_rows: int = 2,
    dtype: Any = jnp.float32,
) -> Program:
    """Builds field: dtype[height, width] -> the same shape after ``steps`` steps. Eight permutes in a loop body."""
    mesh_columns = divide(len(devices), mesh_rows, "the number of devices")
    divide(height, mesh_rows, "the height")
    divide(width, mesh_columns, "the width")
    mesh = Mesh(np.array(devices).reshape(mesh_rows, mesh_columns), ("y", "x"))

    def neighbour(edge: jax.Array, dy: int, dx: int) -> jax.Array:
        """Gives what the neighbour at (dy, dx) sends: the edge of it that touches this device."""
        pairs = [
            ((y + dy) % mesh_rows * mesh_columns + (x + dx) % mesh_columns, y * mesh_columns + x)
            for y in range(mesh_rows)
            for x in range(mesh_columns)
        ]
        return jax.lax.ppermute(edge, ("y", "x"), pairs)

    def step(_: Any, field: jax.Array) -> jax.Array:
        first, last, every = slice(0, 1), slice(-1, None), slice(None)
        facing = {-1: last, 0: every, 1: first}  # the neighbour above sends its last row, the one below its first
        around = [
            [field if (dy, dx) == (0, 0) else neighbour(field[facing[dy], facing[dx]], dy, dx) for dx in (-1, 0, 1)]
            for dy in (-1, 0, 1)
        ]
        padded = jnp.block(around)
        middle = jnp.concatenate([stencil(padded[1:-1, :3]), stencil(field), stencil(padded[1:-1, -3:])], axis=1)
        return jnp.concatenate([stencil(padded[:3]), middle, stencil(padded[-3:])], axis=0)

    def reference(field: np.ndarray) -> np.ndarray:
        for _ in range(steps):
            field = stencil(np.pad(field, 1, mode="wrap"))
        return field

    spec = P("y", "x")
    return Program(
        jax.shard_map(lambda f: jax.lax.fori_loop(0, steps, step, f), mesh=mesh, in_specs=spec, out_specs=spec),
        (jax.ShapeDtypeStruct((height, width), dtype, sharding=NamedSharding(mesh, spec)),),
        reference,
    )
