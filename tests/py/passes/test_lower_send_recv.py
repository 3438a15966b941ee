"""What JAX makes of psend and precv, as permutes."""

from __future__ import annotations

import warnings

import pytest

from hloverlap.pipeline import running

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
BACK = [(1, 0), (2, 1), (3, 2), (0, 3)]


@pytest.fixture(scope="module")
def two_rings() -> bytes:
    """A program for GPUs whose devices exchange with both neighbours, lowered by the jax that is installed."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, PartitionSpec

    warnings.simplefilter("ignore", DeprecationWarning)
    mesh = Mesh(np.array(jax.devices()[:4]), "x")
    spec = PartitionSpec("x")

    def exchange(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        to_next = jax.lax.psend(x, "x", RING)
        to_previous = jax.lax.psend(y, "x", BACK)
        return jax.lax.precv(to_next, shape, "x", RING), jax.lax.precv(to_previous, shape, "x", BACK)

    mapped = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=(spec, spec), out_specs=spec, check_vma=False))
    x = jax.ShapeDtypeStruct((8,), np.float32)
    text: str = mapped.trace(x, x).lower(lowering_platforms=("cuda",)).as_text()
    return text.encode()


def test_nothing_is_merged_with_a_send_or_a_recv(two_rings: bytes) -> None:
    assert not running.run(two_rings, "merge-cross-host-transfers{strategy=group}", topology="2x2").changed


def test_jax_gives_every_send_a_token_of_its_own_so_they_become_permutes_that_can_be_merged(two_rings: bytes) -> None:
    pipeline = "lower-send-recv,merge-cross-host-transfers{strategy=group}"
    result = running.run(two_rings, pipeline, topology="2x2")
    assert [remark.code for remark in result.remarks] == ["LSR001", "LSR001", "MCT001", "MCT001"]
    text = str(result.module)
    assert "stablehlo.send" not in text
    assert "token" not in text
    assert text.count("collective_permute") == 2
    assert not running.run(result.module, pipeline, topology="2x2").changed
