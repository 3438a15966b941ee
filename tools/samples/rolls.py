"""Takes finite differences on automatically sharded arrays: ``jnp.roll`` both ways along a sharded axis.

The program names no device and its StableHLO holds no permute: the partitioner makes them, two independent ones a step,
beside a matmul that needs neither.
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


def step(field: Any, mixer: Any, xp: Any = jnp) -> Any:
    """Takes one diffusion step along the rows, and mixes the columns: f32[rows, columns] -> the same."""
    before, after = xp.roll(field, 1, axis=0), xp.roll(field, -1, axis=0)
    return 0.3 * before + 0.2 * after + xp.tanh(field @ mixer)


def build(
    devices: Sequence[jax.Device], *, rows: int = 512, columns: int = 256, steps: int = 4, dtype: Any = jnp.float32
) -> Program:
    """Builds field: dtype[rows, columns], split by rows, mixer: dtype[columns, columns] -> field after all steps."""
    divide(rows, len(devices), "rows")
    mesh = Mesh(np.array(devices), ("x",))
    split = NamedSharding(mesh, P("x", None))

    def diffuse(field: jax.Array, mixer: jax.Array) -> jax.Array:
        mixer = mixer * (0.5 / columns**0.5)
        return jax.lax.fori_loop(0, steps, lambda _, f: jax.lax.with_sharding_constraint(step(f, mixer), split), field)

    def reference(field: np.ndarray, mixer: np.ndarray) -> np.ndarray:
        mixer = mixer * np.float32(0.5 / columns**0.5)
        for _ in range(steps):
            field = step(field, mixer, np)
        return field

    return Program(
        diffuse,
        (
            jax.ShapeDtypeStruct((rows, columns), dtype, sharding=split),
            jax.ShapeDtypeStruct((columns, columns), dtype, sharding=NamedSharding(mesh, P())),
        ),
        reference,
    )
