"""What JAX makes of psend and precv, as permutes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from hloverlap.pipeline.execution import running
from support.machines import EAGER

LINE = [(0, 1), (1, 2), (2, 3)]
CLOSING = [(3, 0)]


def lowered(exchange: Callable[..., Any], arrays: int) -> bytes:
    """A program for four GPUs that works on some arrays, lowered by the jax that is installed."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, PartitionSpec

    spec = PartitionSpec("x")
    mesh = Mesh(np.array(jax.devices()[:4]), "x")
    mapped = jax.shard_map(exchange, mesh=mesh, in_specs=(spec,) * arrays, out_specs=spec, check_vma=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = jax.jit(mapped).trace(*[jax.ShapeDtypeStruct((8,), np.float32)] * arrays)
        text: str = traced.lower(lowering_platforms=("cuda",)).as_text()
    return text.encode()


def two_arrays(x: Any, y: Any) -> Any:
    import jax

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    sent_x, sent_y = jax.lax.psend(x, "x", LINE), jax.lax.psend(y, "x", LINE)
    return jax.lax.precv(sent_x, shape, "x", LINE), jax.lax.precv(sent_y, shape, "x", LINE)


def ring(x: Any) -> Any:
    import jax

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    sent = [jax.lax.psend(x, "x", pairs) for pairs in (LINE, CLOSING)]
    received = [jax.lax.precv(token, shape, "x", pairs) for token, pairs in zip(sent, (LINE, CLOSING), strict=True)]
    return received[0] + received[1]


def in_turn(x: Any, y: Any) -> Any:
    import jax

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    received = jax.lax.precv(jax.lax.psend(x, "x", LINE), shape, "x", LINE)
    y, _ = jax.lax.optimization_barrier((y, received))
    return received, jax.lax.precv(jax.lax.psend(y, "x", LINE), shape, "x", LINE)


def remarks(result: running.Result) -> list[str]:
    return [remark.code for remark in result.remarks]


def test_nothing_is_merged_with_a_send_or_a_recv() -> None:
    assert not running.run(
        lowered(two_arrays, 2), "merge-cross-host-transfers{strategy=concat}", topology="2x2"
    ).changed


def test_every_send_has_a_token_of_its_own_so_both_become_permutes_that_can_be_merged() -> None:
    pipeline = "lower-send-recv,merge-cross-host-transfers{strategy=concat}"
    result = running.run(lowered(two_arrays, 2), pipeline, topology="2x2")
    assert remarks(result) == ["LSR001", "LSR001", "MCT001", "MCT001"]
    text = str(result.module)
    assert "stablehlo.send" not in text
    assert "token" not in text
    assert text.count("collective_permute") == 1
    assert not running.run(result.module, pipeline, topology="2x2").changed


def test_a_ring_of_sends_in_two_parts_becomes_one_permute() -> None:
    result = running.run(lowered(ring, 1), "lower-send-recv,join-partial-permutes", target=EAGER)
    assert remarks(result) == ["LSR001", "LSR001", "JPP001", "JPP001"]
    assert "dense<[[0, 1], [1, 2], [2, 3], [3, 0]]>" in str(result.module)


def test_the_user_s_barrier_still_orders_the_permutes() -> None:
    pipeline = "lower-send-recv,merge-cross-host-transfers{strategy=concat}"
    text = str(running.run(lowered(in_turn, 2), pipeline, topology="2x2").module)
    kept = re.findall("collective_permute|optimization_barrier", text)
    assert kept == ["collective_permute", "optimization_barrier", "collective_permute"]
