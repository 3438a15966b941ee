"""Runs GPipe: a stack of layers, one stage on each device, microbatches flowing through; loss and gradients.

Each step runs the stage and passes its output on: one permute a step, and one back in the gradient. The pairs do not
close to a ring: the first stage receives zeros and takes the next microbatch instead. Every permute waits for the one
before it, so there is nothing to run together, and a rewrite should leave the module as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program


def reference(weights: np.ndarray, batches: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Computes the loss and its gradient with respect to the weights, stage by stage on the whole batch."""
    scale = weights.shape[-1] ** -0.5
    activations = [batches]
    for w in weights:
        activations.append(np.tanh(activations[-1] @ w * scale))
    error = activations[-1] - targets
    upstream = 2 * error / error.size
    gradients = np.zeros_like(weights)
    for stage in reversed(range(len(weights))):
        inner = upstream * (1 - activations[stage + 1] ** 2) * scale
        gradients[stage] = np.einsum("mbi,mbo->io", activations[stage], inner)
        upstream = inner @ weights[stage].T
    return np.mean(error**2), gradients


def build(
    devices: Sequence[jax.Device], *, microbatches: int = 4, batch: int = 16, width: int = 128, dtype: Any = jnp.float32
) -> Program:
    """Builds the pipeline with its loss and gradient.

    weights: dtype[stages, width, width], batches and targets: dtype[microbatches, batch, width] -> the mean squared
    error, and its gradient with respect to the weights.
    """
    stages = len(devices)
    mesh = Mesh(np.array(devices), ("stage",))
    onward = [(stage, stage + 1) for stage in range(stages - 1)]

    def pipeline(weights: jax.Array, batches: jax.Array, targets: jax.Array) -> jax.Array:
        w = weights[0]
        first = jax.lax.axis_index("stage") == 0
        last = jax.lax.axis_index("stage") == stages - 1

        def step(received: jax.Array, time: jax.Array) -> tuple[jax.Array, jax.Array]:
            fresh = batches[jnp.minimum(time, microbatches - 1)]
            output = jnp.tanh(jnp.where(first, fresh, received) @ w * width**-0.5)
            return jax.lax.ppermute(output, "stage", onward), output

        start = jax.lax.pcast(jnp.zeros((batch, width), dtype), "stage", to="varying")
        _, outputs = jax.lax.scan(step, start, jnp.arange(microbatches + stages - 1))
        squares = (outputs[stages - 1 :] - targets) ** 2
        return jax.lax.psum(jnp.where(last, jnp.mean(squares), 0), "stage")

    by_stage = P("stage", None, None)
    loss = jax.shard_map(pipeline, mesh=mesh, in_specs=(by_stage, P(), P()), out_specs=P())
    data = jax.ShapeDtypeStruct((microbatches, batch, width), dtype, sharding=NamedSharding(mesh, P()))
    weights = jax.ShapeDtypeStruct((stages, width, width), dtype, sharding=NamedSharding(mesh, by_stage))
    return Program(jax.value_and_grad(loss), (weights, data, data), reference)
