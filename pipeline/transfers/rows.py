"""Results of a jitted function by calls that XLA keeps, a few each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from hloverlap.passes.analysis import cost
from hloverlap.passes.mlir.frontend_attributes import INLINEABLE

Make = Callable[[jax.Array, Sequence[int]], Sequence[jax.Array]]


def row_of(device: jax.Device) -> int:
    """How many results such a call is to have on this device; 0 where calls are of no use. See `cost.Target.row`."""
    return cost.of_device(device.platform, device.device_kind).row


def in_rows(make: Make, value: jax.Array, count: int, row: int) -> tuple[jax.Array, ...]:
    """``make(value, range(count))``, by calls of `row` results each; without calls where `row` is 0."""
    if not row:
        return tuple(make(value, range(count)))
    results: list[jax.Array] = []
    for start in range(0, count, row):
        numbers = tuple(range(start, min(start + row, count)))
        with set_xla_metadata(**{INLINEABLE: "false"}):
            results += jax.jit(make, static_argnums=1)(value, numbers)
    return tuple(results)
