"""Random programs of jax.numpy over random meshes and shardings, the same for the same seed."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

MESHES = [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (2, 1, 2, 2), (4,), (2, 2), (6,), (2, 3)]
SIZES = [8, 16, 24, 48]
ODD = [5, 7, 12]  # that do not divide among the devices of most meshes
DTYPES = [jnp.float32, jnp.float32, jnp.float32, jnp.bfloat16, jnp.int32]

Step = Callable[[list[jax.Array]], jax.Array]


@dataclasses.dataclass
class ShardedProgram:
    """A function, what to call it with, and how to compile it. steps: what it does, in words."""

    function: Callable[..., Any]
    inputs: list[tuple[np.ndarray, NamedSharding | None]]
    options: dict[str, Any]
    steps: list[str]

    def arguments(self) -> list[Any]:
        """Fresh arguments, which may be donated; without a sharding they are numpy's."""
        return [value if where is None else jax.device_put(value, where) for value, where in self.inputs]


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        sizes = self.random.choice(MESHES)
        devices = np.array(jax.devices()[: math.prod(sizes)])
        if self.random.random() < 0.3:
            self.numbers.shuffle(devices)
        self.mesh = Mesh(devices.reshape(sizes), tuple("abcd"[: len(sizes)]), axis_types=(AxisType.Auto,) * len(sizes))
        self.steps: list[str] = []

    def spec(self, shape: Sequence[int], even: bool) -> PartitionSpec:
        """Axes of the mesh for some dimensions, sometimes two for one."""
        axes = self.random.sample(self.mesh.axis_names, self.random.randint(0, len(self.mesh.axis_names)))
        dimensions: list[list[str]] = [[] for _ in shape]
        for axis in axes:
            if not shape:
                break
            dimension = self.random.randrange(len(shape))
            wanted = [*dimensions[dimension], axis]
            if not even or shape[dimension] % math.prod(self.mesh.shape[each] for each in wanted) == 0:
                dimensions[dimension] = wanted
        return PartitionSpec(*(tuple(each) or None for each in dimensions))

    def input(self) -> tuple[np.ndarray, NamedSharding | None]:
        """An array of one to three dimensions."""
        shape = [self.random.choice(SIZES) for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.25:
            shape[self.random.randrange(len(shape))] = self.random.choice(ODD)
        dtype = self.random.choice(DTYPES)
        value = self.numbers.standard_normal(shape) if dtype != jnp.int32 else self.numbers.integers(-9, 99, shape)
        where = None if self.random.random() < 0.2 else NamedSharding(self.mesh, self.spec(shape, even=True))
        return value.astype(dtype), where

    def step(self, shapes: list[jax.ShapeDtypeStruct]) -> tuple[str, Step]:
        """Something to do with the values so far."""
        pick = self.random.randrange(len(shapes))
        shape, dtype = shapes[pick].shape, shapes[pick].dtype
        rank = len(shape)
        axis = self.random.randrange(rank) if rank else 0
        amount = self.random.randint(-5, 5)
        seed = self.random.randrange(1000)
        is_float = jnp.issubdtype(dtype, jnp.floating)
        choices: dict[str, Callable[[jax.Array], jax.Array]] = {
            "constraint": self.constrain(shape),
            "open constraint": self.constrain(shape, even=True),
            "tanh": lambda x: jnp.tanh(x * jnp.asarray(0.1, x.dtype)).astype(x.dtype),
            "random": lambda x: x + jax.random.normal(jax.random.key(seed), x.shape).astype(x.dtype),
        }
        if rank:
            choices |= {
                f"roll {amount} {axis}": lambda x: jnp.roll(x, amount, axis),
                f"sum {axis}": lambda x: x.sum(axis),
                f"max {axis}": lambda x: x.max(axis),
                f"sort {axis}": lambda x: jnp.sort(x, axis),
                f"cumsum {axis}": lambda x: jnp.cumsum(x, axis),
                f"flip {axis}": lambda x: jnp.flip(x, axis),
                "transpose": lambda x: x.T,
                f"concatenate {axis}": lambda x: jnp.concatenate([x, x * 2], axis)[
                    tuple(slice(0, size) for size in x.shape)
                ],
                f"doubled {axis}": lambda x: jnp.concatenate([x, x], axis) if x.size < 1 << 15 else x,
                f"strided {axis}": lambda x: jax.lax.slice_in_dim(x, 0, None, 2, axis),
                f"sliced {axis}": lambda x: jax.lax.slice_in_dim(x, x.shape[axis] // 4, x.shape[axis], 1, axis),
                f"padded {axis}": lambda x: jnp.pad(x, [(1, 2) if i == axis else (0, 0) for i in range(x.ndim)]),
                "ravel": lambda x: x.reshape(-1),
                f"take {axis}": lambda x: jnp.take(x, jnp.arange(8) * 3 % x.shape[axis], axis=axis),
                f"scatter {axis}": lambda x: x.at[jnp.arange(x.shape[0]) // 2].add(x),
                "scan": _scanned,
                "while": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: jnp.roll(y, 1, 0) + y // 2, x).astype(x.dtype),
                "cond": lambda x: jax.lax.cond(x.sum() > 0, lambda y: jnp.roll(y, 1, 0), lambda y: y * 2, x),
                f"dynamic {axis}": lambda x: jax.lax.dynamic_slice_in_dim(
                    x, x.astype(jnp.int32).ravel()[0] % 3, max(1, x.shape[axis] // 2), axis
                ),
                "argmax": lambda x: jnp.argmax(x, axis),
                "outer": lambda x: (x[..., None] * x.ravel()[:8]) if x.size < 1 << 12 else x,
            }
            if is_float:
                choices |= {
                    "softmax": lambda x: jax.nn.softmax(x, axis),
                    "gradient": jax.grad(lambda x: (jnp.roll(x, amount, axis) * jnp.sin(x)).sum().astype(jnp.float32)),
                    "remat": jax.grad(
                        lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x).sum().astype(jnp.float32)
                    ),
                    "fft": lambda x: jnp.abs(jnp.fft.fft(x.astype(jnp.float32), axis=axis)),
                    "layer norm": lambda x: (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1),
                }
            if rank >= 2:
                choices |= {
                    "gram": lambda x: jnp.matmul(x, jnp.swapaxes(x, -1, -2)),
                    "matmul": lambda x: jnp.einsum("...ij,...jk->...ik", x, jnp.swapaxes(x, -1, -2)),
                    "diagonal": lambda x: jnp.diagonal(x, axis1=-2, axis2=-1),
                }
            if rank == 2 and is_float:
                choices["convolution"] = lambda x: jax.lax.conv_general_dilated(
                    x[None, None], jnp.ones((1, 1, 3, 3), x.dtype), (1, 1), "SAME"
                )[0, 0]
            name = self.random.choice(self.mesh.axis_names)
            size = self.mesh.shape[name]
            if shape[0] % size == 0:
                choices["shard_map"] = self.mapped(name, size)
        name = self.random.choice(list(choices))
        if self.random.random() < 0.25:
            name = "constraint"
        chosen = choices[name]
        return f"{name} of {pick}", lambda values: chosen(values[pick])

    def constrain(self, shape: Sequence[int], even: bool = False) -> Callable[[jax.Array], jax.Array]:
        where = NamedSharding(self.mesh, self.spec(shape, even or self.random.random() < 0.7))
        return lambda x: jax.lax.with_sharding_constraint(x, where)

    def mapped(self, name: str, size: int) -> Callable[[jax.Array], jax.Array]:
        """A shard_map over one axis; the others are left to the partitioner or not."""
        names = frozenset({name} if self.random.random() < 0.5 else self.mesh.axis_names)
        ring = [(i, (i + 1) % size) for i in range(size)]

        def body(x: jax.Array) -> jax.Array:
            # XLA:CPU of 0.10.2 and 0.12.0 aborts on a psum of bf16 here: its all-reduce promotion meets a copy.
            wide = x.astype(jnp.float32) if x.dtype == jnp.bfloat16 else x
            return jax.lax.ppermute(x, name, ring) + jax.lax.psum(wide, name).astype(x.dtype)

        return jax.shard_map(
            body,
            mesh=self.mesh,
            in_specs=PartitionSpec(name),
            out_specs=PartitionSpec(name),
            axis_names=names,
            check_vma=False,
        )


def _scanned(x: jax.Array) -> jax.Array:
    """What a recurrence along the first dimension has held before each step."""
    return jax.lax.scan(lambda held, y: (held * 0.5 + y, held), jnp.zeros_like(x[0]), x)[1].astype(x.dtype)


def make(seed: int) -> ShardedProgram:
    """A program of this seed."""
    maker = _Maker(seed)
    inputs = [maker.input() for _ in range(maker.random.randint(1, 3))]
    if all(where is None for _, where in inputs):
        value, _ = inputs[0]
        inputs[0] = value, NamedSharding(maker.mesh, maker.spec(value.shape, even=True))
    shapes = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value, _ in inputs]
    steps: list[Step] = []
    words = [f"{maker.mesh.shape} {[(v.shape, str(v.dtype), w and w.spec) for v, w in inputs]}"]
    while len(steps) < 6:
        name, step = maker.step(shapes)
        try:
            shape = jax.eval_shape(step, shapes)
        except Exception:  # not for these shapes
            continue
        if not 0 < math.prod(shape.shape) < 1 << 16:
            continue
        shapes.append(jax.ShapeDtypeStruct(shape.shape, shape.dtype))
        steps.append(step)
        words.append(name)
    count = len(inputs) + len(steps)
    results = maker.random.sample(range(len(inputs), count), maker.random.randint(1, 3))
    if count - 1 not in results:
        results.append(count - 1)

    def program(*values: jax.Array) -> tuple[jax.Array, ...]:
        held = [*values]
        for step in steps:
            held.append(step(held))
        return tuple(held[number] for number in results)

    options: dict[str, Any] = {}
    if maker.random.random() < 0.3:
        options["out_shardings"] = tuple(
            None if maker.random.random() < 0.4 else NamedSharding(maker.mesh, maker.spec(shapes[number].shape, True))
            for number in results
        )
    if maker.random.random() < 0.3:
        options["donate_argnums"] = (0,)
    return ShardedProgram(program, inputs, options, [*words, f"results {results} {options}"])
