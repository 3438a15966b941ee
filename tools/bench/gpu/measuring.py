"""Times compiled programs, taken in turn, and compares what they compute."""

from __future__ import annotations

import dataclasses
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Call = Callable[[], Any]

_SAMPLE = 10e-3  # seconds: shorter samples are mostly the start of the first call
_MOST_CALLS = 100
_ROUNDS = (7, 301)  # programs of under a millisecond vary by a tenth from run to run
_PATIENCE = 3  # times as long as asked for, where it is not clear yet who is faster
_Z = 2.81  # 99.5 % of a normal distribution: one program is compared with ten others


@dataclasses.dataclass(frozen=True)
class Times:
    """Seconds of one run: median, quartiles, and all samples in the order of the rounds."""

    median: float
    low: float
    high: float
    samples: tuple[float, ...]

    @classmethod
    def of(cls, samples: Sequence[float]) -> Times:
        """Sums up at least one sample."""
        low, median, high = (float(value) for value in np.percentile(samples, (25, 50, 75)))
        return cls(median, low, high, tuple(samples))


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Says the median of the ratios of samples taken side by side, and an interval that holds the true one with 99.5 %.

    The interval is that of the sign test, which asks nothing of how samples are distributed.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Sequence[float], others: Sequence[float]) -> Ratio:
        """Compares at least one sample of each."""
        ratios = sorted(a / b for a, b in zip(samples, others, strict=True))
        reach = _Z * math.sqrt(len(ratios)) / 2
        first = max(0, math.floor(len(ratios) / 2 - reach))
        return cls(float(np.median(ratios)), ratios[first], ratios[-1 - first])

    def decides(self, bound: float) -> bool:
        """Says whether the true ratio is on one side of the bound, with 99.5 %."""
        return self.high <= bound or self.low > bound


Samples = Mapping[str, Sequence[float]]


def inputs(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Makes random arrays on the devices for a pytree of ShapeDtypeStruct: floats standard normal, integers to 100."""
    leaves, tree = jax.tree.flatten(args)

    def make(key: jax.Array) -> list[jax.Array]:
        return [_draw(each, leaf) for each, leaf in zip(jax.random.split(key, len(leaves)), leaves, strict=True)]

    made = jax.jit(make, out_shardings=[leaf.sharding for leaf in leaves])(jax.random.key(0))
    found: tuple[Any, ...] = jax.tree.unflatten(tree, jax.block_until_ready(made))
    return found


def _draw(key: jax.Array, leaf: jax.ShapeDtypeStruct) -> jax.Array:
    if jnp.issubdtype(leaf.dtype, jnp.floating):
        return jax.random.normal(key, leaf.shape, jnp.float32).astype(leaf.dtype)
    return jax.random.randint(key, leaf.shape, 0, 2 if leaf.dtype == bool else 100, jnp.int32).astype(leaf.dtype)


@jax.jit
def _compare(a: Any, b: Any) -> tuple[jax.Array, jax.Array]:
    def bits(x: jax.Array) -> jax.Array:
        return x if x.dtype == bool else jax.lax.bitcast_convert_type(x, jnp.dtype(f"uint{8 * x.dtype.itemsize}"))

    pairs = list(zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))
    equal = [jnp.all(bits(x) == bits(y)) for x, y in pairs]
    apart = [jnp.max(jnp.abs(x.astype(jnp.float32) - y.astype(jnp.float32))) for x, y in pairs]
    return jnp.all(jnp.stack(equal)), jnp.max(jnp.stack(apart))


def compare(a: Any, b: Any) -> tuple[bool, float]:
    """Says whether two results have the same bits, and the largest difference of two values (NaN where one is NaN)."""
    equal, apart = _compare(a, b)
    return bool(equal), float(apart)


def magnitude(result: Any) -> float:
    """Gives the largest absolute value of a result: 0 or NaN says that a program computes nothing worth comparing."""
    return compare(result, jax.tree.map(jnp.zeros_like, result))[1]


def in_turn(
    calls: Mapping[str, Call],
    seconds: float,
    queue: bool,
    beat: Callable[[], None],
    enough: Callable[[Samples], bool] = lambda samples: True,
) -> dict[str, Times]:
    """Times each call once a round, in an order drawn for the round, for about `seconds` in all.

    enough: whether the samples say what they are for; until they do it goes on, for three times as long at most.
    queue: let the calls of a sample queue up on the devices, which hides the time it takes to start them; virtual CPU
        devices cannot. beat: called after each round.
    """
    names = list(calls)
    order = random.Random(0)  # a turn that goes round and round gives each the same one before it, which shows
    once = {name: _sample(calls[name], 1, queue) for name in names}
    longest = max(once.values())
    count = max(1, min(_MOST_CALLS, round(_SAMPLE / longest))) if queue else 1
    rounds = int(max(_ROUNDS[0], min(_ROUNDS[1], seconds / (len(names) * count * longest))))
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(_PATIENCE * rounds):
        if number % rounds == 0 and number and enough(samples):
            break
        for name in order.sample(names, len(names)):
            samples[name].append(_sample(calls[name], count, queue))
        beat()
    return {name: Times.of(samples[name]) for name in names}


def _sample(call: Call, count: int, queue: bool) -> float:
    """Measures the seconds a run of `count` runs back to back."""
    start = time.perf_counter()
    result = None
    for _ in range(count):
        result = call()
        if not queue:
            jax.block_until_ready(result)
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / count
