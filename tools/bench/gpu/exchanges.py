"""Holds programs of the benchmark that are transfers and little else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide, shift

Pairs = list[tuple[int, int]]
Carry = tuple[jax.Array, ...]
WIDTH = 1024  # bytes of a row: what travels is uint8[rows, WIDTH] or bf16[rows, WIDTH / 2]


def _not_here(*_: Any) -> Any:
    raise NotImplementedError("the benchmark compares with plain jit, and the tests with arithmetic of their own")


def _program(
    devices: Sequence[jax.Device],
    step: Callable[[Carry], Carry],
    blocks: int,
    size: int,
    steps: int,
    matmul: int = 0,
) -> Program:
    """Carries `blocks` blocks of `size` bytes a device, and a bf16[matmul, matmul] with its weight, through `steps`.

    It is a loop, so that a step's transfers cannot run beside the next step's matmul.
    """
    mesh = Mesh(np.array(devices), ("ring",))
    sharding = NamedSharding(mesh, P("ring"))
    width = min(WIDTH, size) // 2
    block = jax.ShapeDtypeStruct(
        (len(devices) * divide(size, 2 * width, "bytes"), width), jnp.bfloat16, sharding=sharding
    )
    square = jax.ShapeDtypeStruct((len(devices) * matmul, matmul), jnp.bfloat16, sharding=sharding)

    def run(*carry: jax.Array) -> Carry:
        result: Carry = jax.lax.fori_loop(0, steps, lambda _, carried: step(carried), carry)
        return result

    args = (block,) * blocks + ((square, square) if matmul else ())
    return Program(jax.shard_map(run, mesh=mesh, in_specs=P("ring"), out_specs=P("ring")), args, _not_here)


def _multiply(value: jax.Array, weight: jax.Array) -> jax.Array:
    """Multiplies, and keeps the size of the values, so that a chain of matmuls stays finite."""
    product = jnp.dot(value, weight, preferred_element_type=jnp.float32)
    return (product * weight.shape[0] ** -0.5).astype(value.dtype)


def _send(block: jax.Array, pairs: Pairs) -> jax.Array:
    return jax.lax.ppermute(block, "ring", pairs)


def _halves(count: int) -> tuple[Pairs, Pairs]:
    """Pairs even with odd neighbours and back: truly opposite directions of each link, also between two devices."""
    divide(count, 2, "the number of devices")
    there = [(even, even + 1) for even in range(0, count, 2)]
    return there, [(odd, even) for even, odd in there]


def two_ways(
    devices: Sequence[jax.Device], *, size: int, steps: int, matmul: int = 0, ring: bool = True, sort: bool = True
) -> Program:
    """Makes two independent transfers of `size` bytes a step, forwards and backwards, beside one matmul or none.

    ring: each goes round all devices. On two devices both then are the same pairs in two orders, and each alone fills
    both directions of the link. Otherwise one goes from even to odd devices and the other back, each in one direction;
    the blocks change places after each step, so that no device ever sends the zeros that it got from nobody.
    sort: list the pairs by source, in which form XLA joins those of a ring of two devices; else the second in reverse.
    """
    count = len(devices)
    forward, backward = (shift(count, +1), shift(count, -1)) if ring else _halves(count)
    if not sort:
        backward.reverse()

    def step(carry: Carry) -> Carry:
        first, second, *rest = carry
        moved = _send(first, forward), _send(second, backward)
        there = moved if ring else moved[::-1]
        return (*there, _multiply(*rest), rest[1]) if rest else there

    return _program(devices, step, 2, size, steps, matmul)


def one_way(devices: Sequence[jax.Device], *, size: int, steps: int, ring: bool = True) -> Program:
    """Makes one transfer of `size` bytes a step: round the ring, or by turns from even to odd devices and back."""
    forward, backward = (shift(len(devices), +1),) * 2 if ring else _halves(len(devices))
    turns = [forward, backward] * 2

    def four_steps(carry: Carry) -> Carry:
        (block,) = carry
        for pairs in turns:
            block = _send(block, pairs)
        return (block,)

    return _program(devices, four_steps, 1, size, divide(steps, 4, "the number of steps"))


def many(devices: Sequence[jax.Device], *, size: int, steps: int, blocks: int) -> Program:
    """Makes `blocks` independent transfers of `size` bytes a step, all round the same ring."""
    pairs = shift(len(devices), +1)
    return _program(devices, lambda carry: tuple(_send(block, pairs) for block in carry), blocks, size, steps)


def copies(devices: Sequence[jax.Device], *, size: int, steps: int) -> Program:
    """Reads and writes `size` bytes of a device's own memory in each step."""
    return _program(devices, lambda carry: (carry[0] * -1,), 1, size, steps)


def matmuls(devices: Sequence[jax.Device], *, matmul: int, steps: int) -> Program:
    """Makes one bf16[matmul, matmul] product a step, on each device by itself."""
    return _program(devices, lambda carry: (_multiply(*carry), carry[1]), 0, 1024, steps, matmul)


def ring_matmul_one_way(
    devices: Sequence[jax.Device], *, rows: int, depth: int, columns: int, dtype: Any = jnp.bfloat16
) -> Program:
    """Computes `y = x @ w` with the blocks of x going round one way: one transfer a step, beside nothing but dots.

    x: dtype[rows, depth], split by rows; w: dtype[depth, columns], split by columns -> f32[rows, columns].
    """
    size = len(devices)
    block_rows = divide(rows, size, "rows")
    divide(columns, size, "columns")
    mesh = Mesh(np.array(devices), ("ring",))

    def ring(x: jax.Array, w: jax.Array) -> jax.Array:
        here = jax.lax.axis_index("ring")

        def multiply(step: Any, block: jax.Array, y: jax.Array) -> jax.Array:
            product = jnp.dot(block, w, preferred_element_type=jnp.float32)
            return jax.lax.dynamic_update_slice(y, product, ((here - step) % size * block_rows, 0))

        def body(step: Any, carry: Carry) -> Carry:
            block, y = carry
            return _send(block, shift(size, +1)), multiply(step, block, y)

        y = jax.lax.pcast(jnp.zeros((rows, w.shape[1]), jnp.float32), "ring", to="varying")
        block, y = jax.lax.fori_loop(0, size - 1, body, (x, y))
        return multiply(size - 1, block, y)

    x_spec, w_spec = P("ring", None), P(None, "ring")
    return Program(
        jax.shard_map(ring, mesh=mesh, in_specs=(x_spec, w_spec), out_specs=w_spec),
        (
            jax.ShapeDtypeStruct((rows, depth), dtype, sharding=NamedSharding(mesh, x_spec)),
            jax.ShapeDtypeStruct((depth, columns), dtype, sharding=NamedSharding(mesh, w_spec)),
        ),
        lambda x, w: x.astype(np.float32) @ w.astype(np.float32),
        tolerance=1e-4,
    )
