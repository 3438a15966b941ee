"""Learns the coefficients of a diffusion equation with automatic sharding: no collective is named in this program.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python auto_training.py [STEPS]

``jnp.roll`` both ways along the sharded axis makes the partitioner add permutes, forward and in the gradient.
Runs on all devices there are and prints the loss of each step.
"""

from __future__ import annotations

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS, STEPS_OF_FIELD = 256, 128, 3
RATE = 0.2

Parameters = dict[str, jax.Array]


def advance(parameters: Parameters, field: jax.Array) -> jax.Array:
    """Moves the field, f32[rows, columns], a few time steps on: flow along the rows, mixing of the columns."""
    for _ in range(STEPS_OF_FIELD):
        down, up = jnp.roll(field, 1, axis=0), jnp.roll(field, -1, axis=0)
        field = parameters["down"] * down + parameters["up"] * up + jnp.tanh(field @ parameters["mixer"])
    return field


def main(steps: int = 5) -> None:
    """Trains for so many steps."""
    mesh = Mesh(np.array(jax.devices()), ("x",))
    split, whole = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())

    def loss(parameters: Parameters, field: jax.Array, later: jax.Array) -> jax.Array:
        return jnp.mean((advance(parameters, field) - later) ** 2)

    @functools.partial(jax.jit, donate_argnums=0, in_shardings=(whole, split, split), out_shardings=(whole, whole))
    def train_step(parameters: Parameters, field: jax.Array, later: jax.Array) -> tuple[Parameters, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(parameters, field, later)
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradient), value

    random = np.random.default_rng(0)
    mixer = (0.5 * COLUMNS**-0.5 * random.standard_normal((COLUMNS, COLUMNS))).astype(np.float32)
    truth = {"down": np.float32(0.6), "up": np.float32(0.3), "mixer": mixer}
    guess = {"down": np.float32(0.1), "up": np.float32(0.1), "mixer": 0.5 * mixer}
    field = jax.device_put(random.standard_normal((ROWS, COLUMNS)).astype(np.float32), split)
    later = jax.jit(advance, out_shardings=split)(jax.device_put(truth, whole), field)
    parameters = jax.device_put(guess, whole)
    for step in range(steps):
        parameters, value = train_step(parameters, field, later)
        print(f"step {step} loss {float(value):.6f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
