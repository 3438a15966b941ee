"""Results by calls that XLA keeps."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hloverlap.pipeline.transfers.unpack_calls import in_calls, results_per_call


def pieces(value: jax.Array, numbers: Sequence[int]) -> list[jax.Array]:
    return [value[number : number + 3] for number in numbers]


@pytest.mark.parametrize(("count", "row", "calls"), [(17, 8, 3), (16, 8, 2), (1, 8, 1), (0, 8, 0), (17, 0, 0)])
def test_calls_of_so_many_results_stay(count: int, row: int, calls: int) -> None:
    compiled = jax.jit(lambda value: in_calls(pieces, value, count, row)).lower(jnp.arange(32.0)).compile()
    assert compiled.as_text().count(" call(") == calls
    results = compiled(jnp.arange(32.0))
    assert [list(map(float, np.asarray(one))) for one in results] == [[n, n + 1.0, n + 2.0] for n in range(count)]


def test_a_cpu_runs_a_few_ops_in_a_row() -> None:
    assert results_per_call(jax.devices("cpu")[0]) == 8
