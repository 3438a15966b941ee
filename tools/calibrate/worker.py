"""Runs in each process that hlo-calibrate starts: measures chains of permutes over each link, and copies.

In a chain each permute waits for the one before, as in a ping-pong, so that its time is that of so many in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap.pipeline.children import process_group

_SMALL, _LARGE = 256, 4 << 20  # bytes a device
_COPIED = 32 << 10  # of each of the arrays that are packed, about where packing stops to pay
_PACKED = 64  # arrays
_STEPS = {_SMALL: 32, _LARGE: 4}
_ROUNDS = 15
_AXIS = "device"

Pairs = Sequence[tuple[int, int]]


def main() -> None:
    """Says the seconds of one permute by kind, then the sizes."""
    process_group.join()
    owner = [device.process_index for device in jax.devices()]
    links = {"same process": within(owner), "same host": across(owner)}
    calls = {"self": _chain([(n, n) for n in range(len(owner))], _SMALL)}
    for name, pairs in links.items():
        calls |= {f"{name} small": _chain(pairs, _SMALL), f"{name} large": _chain(pairs, _LARGE)}
    steps = {name: _STEPS[_LARGE if name.endswith("large") else _SMALL] for name in calls}
    calls["copy"], steps["copy"] = _copies(), 1
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    # The call itself takes time too. It is the same for all, and small next to a chain; the shortest has least noise.
    process_group.say({name: min(taken) / steps[name] for name, taken in seconds.items()})
    process_group.say({"small": _SMALL, "large": _LARGE, "copied": _PACKED * _COPIED})


def within(host: Sequence[int]) -> list[tuple[int, int]]:
    """Makes the pairs of a ring over the devices of each host."""
    pairs = []
    for each in dict.fromkeys(host):
        members = [n for n, owner in enumerate(host) if owner == each]
        pairs += list(zip(members, members[1:] + members[:1], strict=True))
    return pairs


def across(host: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs each device with the one in its place on the next host."""
    per_host = host.count(host[0])
    return [(n, (n + per_host) % len(host)) for n in range(len(host))]


def _sharding() -> NamedSharding:
    return NamedSharding(Mesh(np.array(jax.devices()), (_AXIS,)), PartitionSpec(_AXIS))


def _argument(size: int) -> jax.Array:
    def part(index: tuple[slice, ...] | None) -> np.ndarray:
        return np.full(size // 4, (index[0].start if index else 0) or 0, np.float32)

    return jax.make_array_from_callback((size // 4 * jax.device_count(),), _sharding(), part, dtype=np.float32)


def _chain(pairs: Pairs, size: int) -> Callable[[], Any]:
    def steps(x: jax.Array) -> jax.Array:
        for _ in range(_STEPS[size]):
            x = jax.lax.ppermute(x, _AXIS, pairs)
        return x

    return _call(steps, [_argument(size)])


def _copies() -> Callable[[], Any]:
    """Does what packing does: one array of many, and many of one, a barrier between them in place of the permute."""

    def copies(*parts: jax.Array) -> list[jax.Array]:
        packed = jax.lax.optimization_barrier(jnp.concatenate(parts))
        return jnp.split(packed, len(parts))

    return _call(copies, [_argument(_COPIED) for _ in range(_PACKED)])


def _call(function: Callable[..., Any], arguments: Sequence[jax.Array]) -> Callable[[], Any]:
    sharding = _sharding()
    mapped = jax.shard_map(function, mesh=sharding.mesh, in_specs=sharding.spec, out_specs=sharding.spec)
    compiled = jax.jit(mapped).lower(*arguments).compile()
    return lambda: jax.block_until_ready(compiled(*arguments))


if __name__ == "__main__":
    main()
