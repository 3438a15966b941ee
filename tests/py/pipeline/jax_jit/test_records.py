"""The record of what happened to each compiled function: every outcome is said, and nothing else happened."""

from __future__ import annotations

import dataclasses
import logging
import pathlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir

from hloverlap import pipeline
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.errors import PassError
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.pipeline import CompileRecord, PipelineWarning
from hloverlap.pipeline.jax_internals import jit_hook, lowerings
from hloverlap.pipeline.jax_jit.config import JitConfig
from hloverlap.pipeline.jax_jit.session import SESSION

GROUPS = "merge-cross-host-transfers{strategy=group},assign-collective-streams"
OVERLAP_LIMIT = "xla_gpu_experimental_parallel_collective_overlap_limit"
X = np.arange(64, dtype=np.float32).reshape(16, 4)


def both_ways(x: jax.Array) -> jax.Array:
    """Two independent permutes beside a matmul."""

    def local(x: jax.Array) -> jax.Array:
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        down = jax.lax.ppermute(x, "x", [(i, (i - 1) % 8) for i in range(8)])
        return x @ x.T @ x + up - down

    mesh = Mesh(np.array(jax.devices()), ("x",))
    return jax.shard_map(local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x)


@dataclasses.dataclass(frozen=True)
class Refuse(Pass):
    """Cannot do its work."""

    name = "refuse"
    summary = "Fails."

    def run(self, op: ir.Operation, context: Context) -> None:
        """Fails."""
        raise PassError("this pass never works")


@dataclasses.dataclass(frozen=True)
class Spoil(Pass):
    """Makes what XLA refuses."""

    name = "spoil"
    summary = "Writes a custom call that is not there."

    def run(self, op: ir.Operation, context: Context) -> None:
        """Puts the call behind the first argument of main."""
        from jaxlib.mlir.dialects import stablehlo

        block = Symbols(op).functions["main"].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block), op.location:
            spoiled = stablehlo.custom_call([block.arguments[0].type], [block.arguments[0]], "no_such_target")
        block.arguments[0].replace_all_uses_except(spoiled, spoiled.owner.operation)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    jax.clear_caches()
    pipeline.clear_records()
    yield
    pipeline.uninstall()


def entry_of(function: str) -> CompileRecord:
    """The last entry of a function."""
    return [entry for entry in pipeline.records() if entry.function == function][-1]


def test_an_entry_says_what_was_done() -> None:
    pipeline.jit(both_ways, GROUPS, topology="2x4")(X)
    entry = entry_of("both_ways")
    assert (entry.outcome, entry.platform, entry.devices) == ("rewritten", "cpu", 8)
    assert entry.statistics["merge-cross-host-transfers"]["num-merged"] == 2
    assert entry.changes == "num-groups 1, num-merged 2"
    assert {remark.code for remark in entry.remarks} >= {"MCT001", "ACS005"}
    assert entry.options == {}  # XLA:CPU knows none of them
    assert 0 < entry.rewrite_seconds < 10
    assert 0 < entry.compile_seconds < 100
    assert len(entry.fingerprint) == 64


def test_what_was_declined_is_said_with_the_reason() -> None:
    alone = jax.jit(lambda x: both_ways(x)[:1] * 0)
    with pipeline.enabled("assign-collective-streams{max-streams=1}"):
        alone(X)
    entry = entry_of("_lambda")
    assert all(remark.message and remark.file.endswith("test_records.py") for remark in entry.remarks)


def test_nothing_to_do_is_said() -> None:
    pipeline.jit(lambda x: x + 1)(1)
    entry = entry_of("_lambda")
    assert (entry.outcome, entry.message) == ("unchanged", "the pipeline ran and found nothing to change")


def test_a_failing_pass_leaves_the_program_as_it_was() -> None:
    f = pipeline.jit(both_ways, [Refuse()])
    with pytest.warns(PipelineWarning, match="both_ways runs as it was written.*refuse: this pass never works"):
        result = f(X)
    assert np.array_equal(result, jax.jit(both_ways)(X))
    entry = entry_of("both_ways")
    assert entry.outcome == "failed"
    assert "this pass never works" in entry.message


def test_what_xla_refuses_leaves_the_program_as_it_was() -> None:
    f = pipeline.jit(both_ways, [Spoil()])
    with pytest.warns(PipelineWarning, match="XLA refused the rewritten module.*no_such_target"):
        result = f(X)
    assert np.array_equal(result, jax.jit(both_ways)(X))
    assert entry_of("both_ways").outcome == "failed"


@pytest.mark.parametrize(
    ("broken", "error"), [(Refuse(), pipeline.PassFailedError), (Spoil(), jax.errors.JaxRuntimeError)]
)
def test_a_strict_setting_raises(broken: Pass, error: type[Exception]) -> None:
    with pytest.raises(error):
        pipeline.jit(both_ways, broken, strict=True)(X)
    assert entry_of("both_ways").outcome == "failed"


def test_an_error_of_the_program_is_the_programs() -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="no_such_option"), pipeline.enabled():
        jax.jit(lambda x: x, compiler_options={"xla_no_such_option": "1"})(1)


def test_a_topology_of_other_devices_is_no_failure() -> None:
    """Of a larger machine, whose first devices are these; of a smaller one, which says nothing of them."""
    for text in ("2x8", "2x3"):
        pipeline.jit(both_ways, topology=text, strict=True)(X)
        assert entry_of("both_ways").outcome == "rewritten"
        pipeline.clear_records()


def test_the_log_says_the_same(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "hloverlap.pipeline"):
        pipeline.jit(both_ways)(X)
    assert caplog.messages == ["both_ways: rewritten: num-annotated 2, num-streams 2"]


def test_a_compiled_function_that_the_program_holds_is_named() -> None:
    compiled = jax.jit(both_ways).lower(X).compile()
    with pipeline.enabled() as record:
        compiled(X)
    assert [(entry.function, entry.outcome) for entry in record] == [("both_ways", "compiled before")]
    with pipeline.enabled() as record:
        pass
    assert not len(record)  # once is enough


class Jitted:
    """One function on its way to XLA, of a backend that need not be here."""

    def __init__(self, platform: str, **options: Any) -> None:
        from jax._src import compiler

        self.options = compiler.get_compile_options(1, 8, env_options_overrides=options)
        self.module = lowerings.module_of(jax.jit(both_ways).lower(X))
        self.platform = platform
        self.built: list[tuple[ir.Module, dict[str, Any]]] = []

    def compile(self, config: JitConfig, devices: tuple[Any, ...] | None = None) -> dict[str, Any]:
        """The options that XLA would get."""

        def build(module: ir.Module, options: Any) -> str:
            self.built.append((module, jit_hook.option_overrides(options)))
            return "executable"

        devices = devices or tuple(jax.devices())
        token = SESSION.configs.token(config)
        made = SESSION.compile(token, self.module, self.options, self.platform, devices, build)
        assert made == "executable"
        return self.built[-1][1]


def test_options_are_added_for_a_gpu_and_only_there() -> None:
    assert Jitted("gpu").compile(JitConfig("overlap")) == {OVERLAP_LIMIT: 2}
    assert entry_of("both_ways").options == {OVERLAP_LIMIT: 2}
    assert Jitted("cpu").compile(JitConfig("overlap")) == {}


def test_an_option_of_the_user_is_never_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Jitted("gpu", **{OVERLAP_LIMIT: 1}).compile(JitConfig("overlap")) == {OVERLAP_LIMIT: 1}
    assert entry_of("both_ways").options_kept == (OVERLAP_LIMIT,)
    monkeypatch.setenv("XLA_FLAGS", f"--{OVERLAP_LIMIT}=1")
    assert Jitted("gpu").compile(JitConfig("overlap")) == {}
    assert entry_of("both_ways").options_kept == (OVERLAP_LIMIT,)


def test_a_backend_that_is_not_covered_gets_the_original() -> None:
    jitted = Jitted("tpu")
    assert jitted.compile(JitConfig("overlap")) == {}
    assert jitted.built[0][0] is jitted.module
    assert entry_of("both_ways").outcome == "not covered"
    assert "'tpu'" in entry_of("both_ways").message


@dataclasses.dataclass(frozen=True)
class Device:
    """What a configuration reads of a device."""

    process_index: int
    platform: str = "cpu"
    device_kind: str = "cpu"


def test_the_topology_comes_from_the_processes_of_the_devices() -> None:
    Jitted("gpu").compile(JitConfig(GROUPS), tuple(Device(i // 4) for i in range(8)))
    assert entry_of("both_ways").statistics["merge-cross-host-transfers"]["num-merged"] == 2
    Jitted("gpu").compile(JitConfig(GROUPS), tuple(Device(0) for _ in range(8)))
    assert entry_of("both_ways").statistics["assign-collective-streams"]["num-annotated"] == 2


def test_the_lowering_in_jits_cache_stays_as_it_is() -> None:
    jitted = Jitted("gpu")
    before = str(jitted.module)
    jitted.compile(JitConfig("overlap"))
    assert str(jitted.module) == before
    assert str(jitted.built[0][0]) != before


def test_a_lone_permute_in_any_order_is_compiled_as_it_is() -> None:
    """A permute's transpose by jax has its pairs out of order; XLA gains nothing by another order of one alone."""
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def squared(x: jax.Array) -> jax.Array:
        mesh = Mesh(np.array(jax.devices()), ("x",))
        shift = jax.shard_map(
            lambda x: jax.lax.ppermute(x, "x", ring) ** 2, mesh=mesh, in_specs=P("x"), out_specs=P("x")
        )
        return shift(x).sum()

    with pipeline.enabled("overlap", target="h200", functions="squared") as compiled:
        jax.jit(jax.grad(squared))(X[:, 0])
    (record,) = [each for each in compiled if each.function == "squared"]
    assert record.outcome == "unchanged"
    assert "num-sorted" not in record.changes


def test_a_warning_and_a_record_point_at_the_users_call() -> None:
    f = pipeline.jit(both_ways, [Refuse()])
    with pytest.warns(PipelineWarning) as warned:
        f(X)  # the call
    (warning,) = warned
    lines = pathlib.Path(__file__).read_text().splitlines()
    assert (warning.filename, lines[warning.lineno - 1].strip()) == (__file__, "f(X)  # the call")
    assert entry_of("both_ways").caller == f"{__file__}:{warning.lineno}"
    assert entry_of("both_ways").title == "both_ways"


def test_what_jax_has_no_name_for_is_named_by_its_caller() -> None:
    mesh = Mesh(np.array(jax.devices()), ("x",))
    ring = [(i, (i + 1) % 8) for i in range(8)]

    def local(x: jax.Array) -> jax.Array:
        return jax.lax.ppermute(x, "x", ring)  # compiled by itself: nobody jits the shard_map

    with pipeline.enabled("overlap") as compiled:
        jax.shard_map(local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(X)
    titles = [record.title for record in compiled if record.remarks]
    line = next(
        n for n, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if "by itself: n" in text
    )
    assert f"_unnamed_function at test_records.py:{line}" in titles


def test_what_is_under_pmap_is_named_by_its_caller() -> None:
    def ring(x: jax.Array) -> jax.Array:
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        return up - jax.lax.ppermute(x, "x", [(i, (i - 1) % 8) for i in range(8)])

    with pipeline.enabled("overlap") as compiled:
        jax.pmap(ring, axis_name="x")(X.reshape(8, 8))  # under pmap
    lines = pathlib.Path(__file__).read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith("# under pmap"))
    assert [record.title for record in compiled if record.remarks] == [f"_fun at test_records.py:{line}"]
