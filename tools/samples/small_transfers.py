"""Sends many small arrays to the other half of the machine at once: a training state kept twice.

Each device copies its part of the state to a partner half the machine away, so that a lost host can be replaced from
memory, while the step that made the state goes on. Sixteen independent transfers of a few KiB and of many dtypes, all
with the same pairs: latency is all they cost, and sent as one they pay it once.
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

# Name of the array -> shape on one device (the first dimension is of width ``width``), dtype.
STATE: dict[str, tuple[tuple[int, ...], Any]] = {
    "attention": ((8,), jnp.bfloat16),
    "attention_bias": ((), jnp.bfloat16),
    "attention_mean": ((8,), jnp.float32),
    "attention_variance": ((8,), jnp.float32),
    "mlp_in": ((16,), jnp.bfloat16),
    "mlp_in_mean": ((16,), jnp.float32),
    "mlp_in_variance": ((16,), jnp.float32),
    "mlp_out": ((4,), jnp.float16),
    "mlp_out_mean": ((4,), jnp.float32),
    "norm_scale": ((), jnp.float32),
    "embedding": ((2, 3), jnp.float8_e4m3fn),
    "quantized": ((8,), jnp.int8),
    "zero_points": ((), jnp.uint8),
    "steps": ((), jnp.int32),
    "frozen": ((), jnp.bool_),
    "codes": ((2,), jnp.uint16),
}


def build(devices: Sequence[jax.Device], *, width: int = 64) -> Program:
    """Builds state: a dict of sixteen arrays -> (the partner's state, what the step makes of "mlp_in").

    That is f32[16, 16] a device. ``width`` scales each array's first dimension.
    """
    size = len(devices)
    across = divide(size, 2, "the number of devices")
    mesh = Mesh(np.array(devices), ("device",))

    def exchange(state: dict[str, jax.Array]) -> tuple[dict[str, jax.Array], jax.Array]:
        copies = {name: jax.lax.ppermute(array, "device", shift(size, across)) for name, array in state.items()}
        return copies, jnp.dot(state["mlp_in"].T, state["mlp_in"], preferred_element_type=jnp.float32)

    def reference(state: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        parts = state["mlp_in"].astype(np.float32).reshape(size, width, -1)
        product = np.concatenate([part.T @ part for part in parts])
        return {name: np.roll(array, across * width, axis=0) for name, array in state.items()}, product

    spec = P("device")
    sharding = NamedSharding(mesh, spec)
    state = {
        name: jax.ShapeDtypeStruct((size * width, *shape), dtype, sharding=sharding)
        for name, (shape, dtype) in STATE.items()
    }
    function = jax.shard_map(exchange, mesh=mesh, in_specs=spec, out_specs=spec)
    return Program(function, (state,), reference)
