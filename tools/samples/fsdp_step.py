"""A training step with all parameters divided among all devices, which the batch is divided among too.

The partitioner gathers each layer's weights before they are used, and scatters the sums of their gradients (on some
backends it reduces them to all and takes a part).
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

RATE = np.float32(0.1)


def loss(layers: Sequence[Any], x: Any) -> Any:
    """A list of f32[width, width], and f32[batch, width] -> f32[]."""
    for weight in layers:
        x = jnp.tanh(x @ weight)
    return jnp.mean((x - 1) ** 2)


def gradient(layers: Sequence[np.ndarray], x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The loss and its gradient by each layer, in numpy."""
    held = [x]
    for weight in layers:
        held.append(np.tanh(held[-1] @ weight))
    by_value = 2 * (held[-1] - 1) / held[-1].size
    found = []
    for weight, before, after in zip(reversed(layers), held[-2::-1], held[:0:-1], strict=True):
        by_value = by_value * (1 - after**2)
        found.append(before.T @ by_value)
        by_value = by_value @ weight.T
    return np.mean((held[-1] - 1) ** 2), found[::-1]


def build(devices: Sequence[jax.Device], *, batch: int = 64, width: int = 64, depth: int = 2) -> Program:
    """Layers and x as in `loss` -> the layers after one step, and the loss."""
    divide(batch, len(devices), "batch")
    divide(width, len(devices), "width")
    mesh = Mesh(np.array(devices), ("shard",))
    rows, whole = NamedSharding(mesh, P("shard", None)), NamedSharding(mesh, P())

    def forward(layers: Sequence[jax.Array], x: jax.Array) -> jax.Array:
        return loss([jax.lax.with_sharding_constraint(weight, whole) for weight in layers], x)

    def step(layers: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        value, by_layer = jax.value_and_grad(forward)(layers, x)
        return [
            jax.lax.with_sharding_constraint(weight - RATE * change, rows)
            for weight, change in zip(layers, by_layer, strict=True)
        ], value

    def reference(layers: list[np.ndarray], x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        value, by_layer = gradient(layers, x)
        return [weight - RATE * change for weight, change in zip(layers, by_layer, strict=True)], value

    layers = [jax.ShapeDtypeStruct((width, width), jnp.float32, sharding=rows) for _ in range(depth)]
    x = jax.ShapeDtypeStruct((batch, width), jnp.float32, sharding=rows)
    return Program(step, (layers, x), reference, tolerance=1e-4)
