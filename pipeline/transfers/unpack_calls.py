"""Computes the results of a jitted function by calls that XLA keeps, a few results each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from hloverlap.passes.machine import targets
from hloverlap.passes.mlir.frontend_attributes import INLINEABLE

Make = Callable[[jax.Array, Sequence[int]], Sequence[jax.Array]]


def results_per_call(device: jax.Device) -> int:
    """Gives how many results such a call is to have on this device, 0 for no calls: `Costs.sequential_ops`."""
    return targets.of_device(device.platform, device.device_kind).costs.sequential_ops


def in_calls(make: Make, value: jax.Array, count: int, per_call: int) -> tuple[jax.Array, ...]:
    """Gives ``make(value, range(count))``, by calls of `per_call` results each; without calls where `per_call` is 0."""
    if not per_call:
        return tuple(make(value, range(count)))
    results: list[jax.Array] = []
    for start in range(0, count, per_call):
        numbers = tuple(range(start, min(start + per_call, count)))
        with set_xla_metadata(**{INLINEABLE: "false"}):
            results += jax.jit(make, static_argnums=1)(value, numbers)
    return tuple(results)
