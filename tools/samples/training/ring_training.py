"""Trains a two-layer network whose matmuls gather their input over a two-direction ring, with ``jax.shard_map``.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python ring_training.py [STEPS]

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

ROWS, WIDTH, HIDDEN = 256, 64, 512  # ROWS and HIDDEN are split among the devices
RATE = 0.5

Parameters = dict[str, jax.Array]


def ring_matmul(x: jax.Array, w: jax.Array) -> jax.Array:
    """Multiplies all rows of x with the columns of w held here.

    [rows here, k] x [k, columns here] -> [rows, columns here].
    """
    size = jax.lax.axis_size("ring")
    here = jax.lax.axis_index("ring")
    half = x.shape[0] // 2
    upper, lower = x[:half], x[half:]
    uppers, lowers = [], []
    for step in range(size):
        uppers.append(upper @ w)
        lowers.append(lower @ w)
        if step < size - 1:
            upper = jax.lax.ppermute(upper, "ring", [(i, (i + 1) % size) for i in range(size)])
            lower = jax.lax.ppermute(lower, "ring", [(i, (i - 1) % size) for i in range(size)])
    steps = jnp.arange(size)
    blocks = jnp.stack([jnp.stack(uppers)[(here - steps) % size], jnp.stack(lowers)[(steps - here) % size]], axis=1)
    return blocks.reshape(size * x.shape[0], w.shape[1])


def loss(parameters: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """Computes the mean squared error on each device, of its rows of x and y and its part of the hidden layer."""
    hidden = jnp.tanh(ring_matmul(x, parameters["w_in"]))
    out = jax.lax.psum_scatter(hidden @ parameters["w_out"], "ring", scatter_dimension=0, tiled=True)
    return jax.lax.pmean(jnp.mean((out - y) ** 2), "ring")


def main(steps: int = 5) -> None:
    """Trains for so many steps."""
    mesh = Mesh(np.array(jax.devices()), ("ring",))
    rows = P("ring", None)
    specs = {"w_in": P(None, "ring"), "w_out": P("ring", None)}
    sharded_loss = jax.shard_map(loss, mesh=mesh, in_specs=(specs, rows, rows), out_specs=P())

    @functools.partial(jax.jit, donate_argnums=0)
    def train_step(parameters: Parameters, x: jax.Array, y: jax.Array) -> tuple[Parameters, jax.Array]:
        value, gradient = jax.value_and_grad(sharded_loss)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, gradient), value

    random = np.random.default_rng(0)

    def array(shape: tuple[int, ...], spec: P, scale: float = 1.0) -> jax.Array:
        values = (scale * random.standard_normal(shape)).astype(np.float32)
        return jax.device_put(values, NamedSharding(mesh, spec))

    parameters = {
        "w_in": array((WIDTH, HIDDEN), specs["w_in"], WIDTH**-0.5),
        "w_out": array((HIDDEN, WIDTH), specs["w_out"], HIDDEN**-0.5),
    }
    x = array((ROWS, WIDTH), rows)
    y = jax.device_put(np.sin(np.asarray(x)), NamedSharding(mesh, rows))
    for step in range(steps):
        parameters, value = train_step(parameters, x, y)
        print(f"step {step} loss {float(value):.6f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
