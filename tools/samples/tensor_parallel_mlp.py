"""A two-layer MLP with its weights divided by columns and by rows, and its gradient, by automatic sharding.

The program names no collective: the partitioner adds the all-reduces of the forward and the backward pass.
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


def loss(x: Any, up: Any, down: Any) -> Any:
    """f32[batch, width], f32[width, hidden], f32[hidden, width] -> f32[]."""
    return jnp.mean((jnp.tanh(x @ up) @ down) ** 2)


def gradient(x: np.ndarray, up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The loss, and its gradient with respect to the weights, in numpy."""
    hidden = np.tanh(x @ up)
    result = hidden @ down
    by_result = 2 * result / result.size
    by_hidden = by_result @ down.T * (1 - hidden**2)
    return np.mean(result**2), (x.T @ by_hidden, hidden.T @ by_result)


def build(
    devices: Sequence[jax.Device], *, batch: int = 64, width: int = 64, hidden: int = 256, data: int = 2
) -> Program:
    """x, up and down as in `loss` -> the loss and the gradient of up and down; ``data`` groups of devices share x."""
    model = divide(len(devices), data, "the number of devices")
    divide(hidden, model, "hidden")
    divide(batch, data, "batch")
    mesh = Mesh(np.array(devices).reshape(data, model), ("data", "model"))

    def array(*shape: int, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    return Program(
        jax.value_and_grad(loss, argnums=(1, 2)),
        (
            array(batch, width, spec=P("data", None)),
            array(width, hidden, spec=P(None, "model")),
            array(hidden, width, spec=P("model", None)),
        ),
        gradient,
        tolerance=1e-4,
    )
