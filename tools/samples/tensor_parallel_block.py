"""A transformer block, its heads and its hidden units divided among devices by automatic sharding, and its gradient.

Sequences are divided between the layers and heads within them, so the partitioner adds all-gathers before each layer
and reduce-scatters (on some backends all-reduces) after it.
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

Weights = dict[str, Any]


def block(weights: Weights, x: Any, heads: int, inside: Any = lambda y: y, between: Any = lambda y: y) -> Any:
    """f32[batch, sequence, width] -> the same. inside, between: what is said of values in layers and between them."""
    batch, sequence, width = x.shape
    queries, keys, values = (
        inside((x @ weights[name]).reshape(batch, sequence, heads, width // heads)) for name in ("q", "k", "v")
    )
    scores = jnp.einsum("bqhd,bkhd->bhqk", queries, keys) / np.float32((width // heads) ** 0.5)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), values)
    x = between(x + mixed.reshape(batch, sequence, width) @ weights["o"])
    return between(x + jnp.tanh(x @ weights["up"]) @ weights["down"])


def build(
    devices: Sequence[jax.Device],
    *,
    batch: int = 4,
    sequence: int = 32,
    width: int = 64,
    heads: int = 8,
    data: int = 2,
) -> Program:
    """weights, by name, and x as in `block` -> the mean square of the result, and its gradient by the weights.

    The reference is the same function of whole arrays, with nothing said of shardings.
    """
    model = divide(len(devices), data, "the number of devices")
    divide(heads, model, "heads")
    divide(sequence, model, "sequence")
    mesh = Mesh(np.array(devices).reshape(data, model), ("data", "model"))

    def saying(*spec: str | None) -> Any:
        return lambda y: jax.lax.with_sharding_constraint(y, NamedSharding(mesh, P(*spec)))

    def array(*shape: int, spec: P) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    def loss(weights: Weights, x: Any, *said: Any) -> Any:
        weights = {name: weight / np.float32(weight.shape[0] ** 0.5) for name, weight in weights.items()}
        return jnp.mean(block(weights, x, heads, *said) ** 2)

    def step(weights: Weights, x: jax.Array) -> Any:
        inside, between = saying("data", None, "model", None), saying("data", "model", None)
        return jax.value_and_grad(lambda weights: loss(weights, x, inside, between))(weights)

    columns, rows = P(None, "model"), P("model", None)
    weights = {name: array(width, width, spec=columns) for name in ("q", "k", "v")}
    weights |= {"o": array(width, width, spec=rows)}
    weights |= {"up": array(width, 4 * width, spec=columns), "down": array(4 * width, width, spec=rows)}
    return Program(
        step, (weights, array(batch, sequence, width, spec=P("data", "model", None))), jax.value_and_grad(loss), 1e-4
    )
