"""A layer of experts, one on each device: tokens are divided by sender, then by expert, then by sender again.

Nothing but sharding constraints says so; the partitioner makes an all-to-all of each change.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program


def build(devices: Sequence[jax.Device], *, tokens: int = 8, width: int = 32, hidden: int = 64) -> Program:
    """f32[senders, experts, tokens, width] by senders, weights by experts -> what the experts make of them, by senders.

    up: f32[experts, width, hidden], down: f32[experts, hidden, width]; there are as many experts as devices.
    """
    count = len(devices)
    mesh = Mesh(np.array(devices), ("expert",))
    by_sender, by_expert = NamedSharding(mesh, P("expert")), NamedSharding(mesh, P(None, "expert"))

    def layer(sent: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
        received = jax.lax.with_sharding_constraint(sent, by_expert)
        hidden_units = jnp.tanh(jnp.einsum("setw,ewh->seth", received, up))
        result = jnp.einsum("seth,ehw->setw", hidden_units, down)
        return jax.lax.with_sharding_constraint(jax.lax.with_sharding_constraint(result, by_expert), by_sender)

    def reference(sent: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
        return np.einsum("seth,ehw->setw", np.tanh(np.einsum("setw,ewh->seth", sent, up)), down)

    return Program(
        layer,
        tuple(
            jax.ShapeDtypeStruct(shape, jnp.float32, sharding=by_sender)
            for shape in ((count, count, tokens, width), (count, width, hidden), (count, hidden, width))
        ),
        reference,
        tolerance=1e-4,
    )
