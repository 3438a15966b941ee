"""`hloverlap.pipeline.compile`: from a lowering to a callable executable of the rewritten module."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline import PipelineTextError
from hloverlap.pipeline.jax_jit.aot import Rewritten, compile

RIGHT = [(i, (i + 1) % 8) for i in range(8)]
LEFT = [(i, (i - 1) % 8) for i in range(8)]
TWO_HOSTS = Topology.parse("2x4")
GROUPS = "merge-cross-host-transfers{strategy=group}"


@pytest.fixture
def mesh():
    return jax.make_mesh((8,), ("x",))


def neighbours(mesh):
    """A dict of arrays in, a dict of arrays out: each block plus its two neighbours', scaled."""

    def f(blocks, scale):
        right = jax.lax.ppermute(blocks["a"], "x", RIGHT)
        left = jax.lax.ppermute(blocks["b"], "x", LEFT)
        return {"sum": scale * (right.astype(jnp.float32) + left)}

    spec = PartitionSpec("x")
    return jax.shard_map(f, mesh=mesh, in_specs=({"a": spec, "b": spec}, PartitionSpec()), out_specs={"sum": spec})


def arguments(mesh):
    where = NamedSharding(mesh, PartitionSpec("x"))
    a = jax.device_put(np.arange(16, dtype=np.float16), where)
    b = jax.device_put(np.linspace(0, 1, 16, dtype=np.float32), where)
    return {"a": a, "b": b}, np.float32(3)


def test_the_rewritten_module_computes_the_same_bits(mesh):
    f = jax.jit(neighbours(mesh))
    blocks, scale = arguments(mesh)
    rewritten = compile(f.lower(blocks, scale), GROUPS, topology=TWO_HOSTS)
    assert isinstance(rewritten, Rewritten)
    assert rewritten.result.changed
    assert "_collectives_group" in rewritten.compiled.as_text() or "_collectives_group" in str(rewritten.result.module)
    got, wanted = rewritten(blocks, scale), f(blocks, scale)
    assert got.keys() == wanted.keys()
    assert np.asarray(got["sum"]).tobytes() == np.asarray(wanted["sum"]).tobytes()
    assert got["sum"].sharding.is_equivalent_to(wanted["sum"].sharding, 1)


def test_a_later_call_of_jit_runs_the_original(mesh):
    f = jax.jit(neighbours(mesh))
    lowered = f.lower(*arguments(mesh))
    before = lowered.as_text()
    compile(lowered, GROUPS, topology=TWO_HOSTS)
    f(*arguments(mesh))
    assert lowered.as_text() == before == f.lower(*arguments(mesh)).as_text()
    assert "_collectives_group" not in before


def test_donated_arguments_are_donated(mesh):
    f = jax.jit(neighbours(mesh), donate_argnums=0)
    blocks, scale = arguments(mesh)
    wanted = jax.jit(neighbours(mesh))(blocks, scale)
    got = compile(f.lower(blocks, scale), GROUPS, topology=TWO_HOSTS)(blocks, scale)
    assert np.asarray(got["sum"]).tobytes() == np.asarray(wanted["sum"]).tobytes()
    assert blocks["b"].is_deleted()


def test_static_arguments_are_left_out_of_the_call(mesh):
    @functools.partial(jax.jit, static_argnames="times")
    def f(x, times):
        return x * times

    x = np.arange(4, dtype=np.float32)
    assert compile(f.lower(x, times=3))(x).tolist() == [0, 3, 6, 9]


def test_closed_over_constants_are_passed_along(mesh):
    table = jnp.arange(8, dtype=jnp.float32)
    f = jax.jit(lambda x: x + table)
    assert compile(f.lower(table), "cse")(table).tolist() == (2 * np.arange(8)).tolist()


def test_where_nothing_changes_the_original_is_compiled():
    f = jax.jit(lambda x: x + 1)
    rewritten = compile(f.lower(np.float32(1)))
    assert not rewritten.result.changed
    assert rewritten(np.float32(1)) == 2
    assert rewritten.compiler_options == {}


def test_a_bad_pipeline_is_an_error_before_anything_is_compiled():
    with pytest.raises(PipelineTextError, match="no-such-pass"):
        compile(jax.jit(lambda x: x).lower(1.0), "no-such-pass")


def test_options_of_the_rewrite_do_not_reach_a_cpu_but_those_of_the_user_do(mesh):
    f = jax.jit(neighbours(mesh), compiler_options={"xla_cpu_enable_fast_math": False})
    given = {"xla_backend_optimization_level": 1}
    rewritten = compile(f.lower(*arguments(mesh)), "assign-collective-streams", compiler_options=given)
    assert rewritten.compiler_options == {"xla_cpu_enable_fast_math": False, "xla_backend_optimization_level": 1}


def entry_of(compiled) -> str:
    """The ops of the entry computation, as XLA compiled it."""
    return compiled.as_text().partition("\nENTRY ")[2].partition("\n}")[0]


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int8, np.bool_])
def test_what_is_only_returned_arrives_in_calls_that_xla_runs_in_a_row(mesh, dtype):
    where = NamedSharding(mesh, PartitionSpec("x"))
    blocks = [jax.device_put((np.arange(64) % (number + 2)).astype(dtype), where) for number in range(16)]
    blocks += [jax.device_put(np.arange(64, dtype=np.float32), where)]
    send = jax.shard_map(
        lambda *shards: [jax.lax.ppermute(shard, "x", RIGHT) for shard in shards],
        mesh=mesh,
        in_specs=PartitionSpec("x"),
        out_specs=PartitionSpec("x"),
    )
    f = jax.jit(send)
    rewritten = compile(f.lower(*blocks), "merge-cross-host-transfers", topology=TWO_HOSTS)
    entry = entry_of(rewritten.compiled)
    assert entry.count(" collective-permute(") == 1
    assert entry.count(" call(") == 3
    for got, wanted in zip(rewritten(*blocks), f(*blocks), strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


@pytest.fixture(params=["shardy", "gspmd"])
def partitioner(request):
    held = jax.config.jax_use_shardy_partitioner
    jax.config.update("jax_use_shardy_partitioner", request.param == "shardy")
    yield
    jax.config.update("jax_use_shardy_partitioner", held)


@pytest.mark.usefixtures("partitioner")
def test_what_xla_divides_along_other_axes_is_not_gathered_to_be_sent():
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    where = NamedSharding(mesh, PartitionSpec("x", "y"))
    blocks = [jax.device_put(np.full((8, 4), number, np.float32), where) for number in range(9)]
    pairs = [(number, (number + 1) % 4) for number in range(4)]
    send = jax.shard_map(
        lambda *shards: [jax.lax.ppermute(shard, "x", pairs) for shard in shards],
        mesh=mesh,
        in_specs=PartitionSpec("x"),
        out_specs=PartitionSpec("x"),
        axis_names={"x"},
    )
    lowered = jax.jit(send).lower(*blocks)
    rewritten = compile(lowered, "merge-cross-host-transfers", topology=Topology.parse("4x2"))
    plain = lowered.compile()
    assert {remark.code for remark in rewritten.result.remarks} == {"MCT016"}
    assert rewritten.compiled.as_text().count(" all-gather(") == plain.as_text().count(" all-gather(")
    for got, wanted in zip(rewritten(*blocks), plain(*blocks), strict=True):
        assert got.sharding == wanted.sharding
