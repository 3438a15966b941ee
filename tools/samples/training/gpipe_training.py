"""Trains a classifier as a GPipe pipeline: a stage on each device, microbatches flowing through.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python gpipe_training.py [STEPS]

The labels travel with their microbatch, so that the last stage has them: two transfers a step, of two dtypes, that do
not depend on each other. Runs on all devices there are and prints the loss of each step.
"""

from __future__ import annotations

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MICROBATCHES, BATCH, WIDTH, CLASSES = 4, 16, 64, 10
RATE = 1.0

Microbatch = tuple[jax.Array, jax.Array]


def pipeline_loss(weights: jax.Array, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Computes the mean cross entropy; runs once on each device, with the weights of its stage."""
    stages = jax.lax.axis_size("stage")
    first = jax.lax.axis_index("stage") == 0
    last = jax.lax.axis_index("stage") == stages - 1
    onward = [(stage, stage + 1) for stage in range(stages - 1)]

    def step(received: Microbatch, time: jax.Array) -> tuple[Microbatch, jax.Array]:
        now = jnp.minimum(time, MICROBATCHES - 1)
        activations = jnp.where(first, inputs[now], received[0])
        targets = jnp.where(first, labels[now], received[1])
        activations = activations + jnp.tanh(activations @ weights[0])
        scores = jax.nn.log_softmax(activations[:, :CLASSES])
        entropy = -jnp.mean(jnp.take_along_axis(scores, targets[:, None], axis=1))
        moved = jax.lax.ppermute(activations, "stage", onward), jax.lax.ppermute(targets, "stage", onward)
        return moved, entropy

    empty = jnp.zeros((BATCH, WIDTH), jnp.float32), jnp.zeros((BATCH,), jnp.int32)
    start = jax.tree.map(lambda x: jax.lax.pcast(x, "stage", to="varying"), empty)
    _, entropies = jax.lax.scan(step, start, jnp.arange(MICROBATCHES + stages - 1))
    # The last stage has seen its first microbatch after stages - 1 steps.
    return jax.lax.psum(jnp.where(last, jnp.mean(entropies[stages - 1 :]), 0.0), "stage")


def start_of_training(stages: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Makes weights f32[stages, WIDTH, WIDTH], inputs f32[MICROBATCHES, BATCH, WIDTH] and labels, always the same."""
    random = np.random.default_rng(0)
    weights = (0.5 * WIDTH**-0.5 * random.standard_normal((stages, WIDTH, WIDTH))).astype(np.float32)
    inputs = random.standard_normal((MICROBATCHES, BATCH, WIDTH)).astype(np.float32)
    return weights, inputs, inputs[..., -CLASSES:].argmax(-1).astype(np.int32)


def main(steps: int = 5) -> None:
    """Trains for so many steps."""
    mesh = Mesh(np.array(jax.devices()), ("stage",))
    by_stage = P("stage", None, None)
    loss = jax.shard_map(pipeline_loss, mesh=mesh, in_specs=(by_stage, P(), P()), out_specs=P())

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(weights: jax.Array, inputs: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(weights, inputs, labels)
        return weights - RATE * gradient, value

    weights, inputs, labels = start_of_training(mesh.size)
    trained = jax.device_put(weights, NamedSharding(mesh, by_stage))
    data = jax.device_put((inputs, labels), NamedSharding(mesh, P()))
    for step in range(steps):
        trained, value = train_step(trained, *data)
        print(f"step {step} loss {float(value):.6f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
