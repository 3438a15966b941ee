"""enabled, install and uninstall: who is rewritten, what is shared, and what is left behind."""

from __future__ import annotations

import pathlib
import threading
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compiler, pjit
from jax._src.interpreters import partial_eval
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from hloverlap import pipeline

STREAMS = "assign-collective-streams"
OTHER_STREAMS = "assign-collective-streams{first-stream=7}"


def both_ways(x: jax.Array) -> jax.Array:
    """Two independent permutes beside a matmul."""

    def local(x: jax.Array) -> jax.Array:
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        down = jax.lax.ppermute(x, "x", [(i, (i - 1) % 8) for i in range(8)])
        return x @ x.T @ x + up - down

    mesh = Mesh(np.array(jax.devices()), ("x",))
    return jax.shard_map(local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)


X = np.arange(64, dtype=np.float32).reshape(16, 4)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    jax.clear_caches()
    pipeline.clear_records()
    yield
    pipeline.uninstall()


def outcomes() -> dict[str, str]:
    """Gives function -> outcome, of what was compiled for several devices while a setting was on."""
    found = [entry for entry in pipeline.records() if entry.devices > 1 and entry.outcome != "compiled before"]
    return {entry.function: entry.outcome for entry in found}


def test_only_what_is_compiled_inside_the_block_is_rewritten() -> None:
    f = jax.jit(both_ways)
    before = f(X)
    with pipeline.enabled() as compiled:
        inside = f(X)
    after = f(X)
    assert [entry.outcome for entry in compiled if entry.function == "both_ways"] == ["compiled before", "rewritten"]
    assert np.array_equal(before, inside)
    assert np.array_equal(before, after)


def test_leaving_the_block_leaves_nothing_behind() -> None:
    original, rule = compiler.compile_or_get_cached, partial_eval.custom_staging_rules[pjit.jit_p]
    f = jax.jit(both_ways)
    f(X)
    with pipeline.enabled():
        f(X)
    # Functions of pipeline.jit may be compiled at any time: in a process that has one the hook stays.
    assert compiler.compile_or_get_cached is original
    assert partial_eval.custom_staging_rules[pjit.jit_p] is rule
    seen = len(pipeline.records())
    f(X)
    jax.jit(lambda x: both_ways(x) + 1)(X)
    assert len(pipeline.records()) == seen


def test_an_exception_leaves_the_block_as_well() -> None:
    original = compiler.compile_or_get_cached
    with pytest.raises(KeyError), pipeline.enabled():
        raise KeyError
    assert compiler.compile_or_get_cached is original


def test_two_settings_never_share_an_executable_in_memory() -> None:
    f = jax.jit(both_ways)
    with pipeline.enabled(STREAMS) as first:
        f(X)
    with pipeline.enabled(OTHER_STREAMS) as second:
        f(X)
    prints = {entry.fingerprint for each in (first, second) for entry in each if entry.outcome == "rewritten"}
    assert len(prints) == 2


def test_entering_a_setting_again_finds_what_it_had_compiled() -> None:
    f = jax.jit(both_ways)
    with pipeline.enabled(STREAMS):
        f(X)
    with pipeline.enabled(STREAMS) as again:
        f(X)
    assert not [entry for entry in again if entry.outcome == "rewritten"]


def test_blocks_nest() -> None:
    with pipeline.enabled(STREAMS) as outer:
        with pipeline.enabled(OTHER_STREAMS) as inner:
            jax.jit(both_ways)(X)
        jax.jit(lambda x: both_ways(x) * 2)(X)
    assert [entry.function for entry in inner if entry.outcome == "rewritten"] == ["both_ways"]
    assert [entry.function for entry in outer if entry.outcome == "rewritten"] == ["_lambda"]


def test_a_decorated_function_keeps_its_own_setting() -> None:
    mine = pipeline.jit(both_ways, STREAMS)
    with pipeline.enabled("cse") as compiled:
        mine(X)
    assert not [entry for entry in compiled if entry.function == "both_ways" and entry.outcome != "compiled before"]
    assert outcomes()["both_ways"] == "rewritten"


def test_functions_are_chosen_by_name() -> None:
    def train_step(x: jax.Array) -> jax.Array:
        return both_ways(x)

    def evaluate(x: jax.Array) -> jax.Array:
        return both_ways(x)

    with pipeline.enabled(functions="train_*, other"):
        jax.jit(train_step)(X)
        jax.jit(evaluate)(X)
    assert outcomes() == {"train_step": "rewritten", "evaluate": "left out"}


def test_a_block_is_for_its_thread_and_an_installation_for_all() -> None:
    def in_a_thread() -> None:
        thread = threading.Thread(target=lambda: jax.block_until_ready(jax.jit(both_ways)(X)))
        thread.start()
        thread.join()

    with pipeline.enabled():
        in_a_thread()
    assert "both_ways" not in outcomes()
    jax.clear_caches()
    record = pipeline.install()
    in_a_thread()
    assert [entry.outcome for entry in record if entry.function == "both_ways"][-1] == "rewritten"


def test_uninstall_undoes_install() -> None:
    original = compiler.compile_or_get_cached
    pipeline.install()
    jax.jit(both_ways)(X)
    pipeline.install(OTHER_STREAMS)  # instead of the first
    pipeline.uninstall()
    pipeline.uninstall()  # there is nothing any more
    assert compiler.compile_or_get_cached is original
    pipeline.clear_records()
    jax.jit(both_ways)(X)
    assert not pipeline.records()


def test_eager_operations_are_compiled_too() -> None:
    with pipeline.enabled() as compiled:
        jnp.sin(jnp.ones(17))
    assert {"sin", "broadcast_in_dim"} <= {entry.function for entry in compiled}
    assert {entry.outcome for entry in compiled if entry.devices == 1} == {"unchanged"}


def test_a_mistake_in_the_setting_changes_nothing() -> None:
    original = compiler.compile_or_get_cached
    for mistake in ({"pipeline": "no-such-pass"}, {"topology": "8"}):
        with pytest.raises(pipeline.HloverlapError):
            pipeline.install(**mistake)
        with pytest.raises(pipeline.HloverlapError):
            pipeline.jit(both_ways, **mistake)
    assert compiler.compile_or_get_cached is original


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Makes jax's persistent cache, empty, and used for everything."""
    from jax.experimental.compilation_cache import compilation_cache

    names = ("jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes")
    before = {name: getattr(jax.config, name) for name in (*names, "jax_compilation_cache_dir")}
    for name in names:
        jax.config.update(name, 0)
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    compilation_cache.reset_cache()
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def entries(cache: pathlib.Path) -> set[str]:
    """The executables of both_ways in the persistent cache."""
    return {path.name for path in cache.glob("jit_both_ways-*-cache")}


def test_two_settings_never_share_an_executable_on_disk(cache: pathlib.Path) -> None:
    jax.jit(both_ways)(X)
    assert len(entries(cache)) == 1
    with pipeline.enabled(STREAMS):
        jax.jit(both_ways)(X)
    assert len(entries(cache)) == 2
    with pipeline.enabled(OTHER_STREAMS):
        jax.jit(both_ways)(X)
    assert len(entries(cache)) == 3
    # Without a second process: forget what is in memory, and nothing new is compiled.
    jax.clear_caches()
    with pipeline.enabled(STREAMS) as again:
        rewritten = jax.jit(both_ways)(X)
    jax.clear_caches()
    plain = jax.jit(both_ways)(X)
    assert len(entries(cache)) == 3
    assert [entry.outcome for entry in again if entry.function == "both_ways"][-1] == "rewritten"
    assert np.array_equal(rewritten, plain)


def test_what_the_pipeline_leaves_alone_is_shared_on_disk(cache: pathlib.Path) -> None:
    jax.jit(both_ways)(X)
    with pipeline.enabled("canonicalize-permutes", functions="nothing"):
        jax.jit(both_ways)(X)
    assert len(entries(cache)) == 1
