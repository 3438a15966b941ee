"""Whatever jax.jit does, hloverlap.pipeline.jit does too: same bits, shardings, donation, compiles and exceptions."""

from __future__ import annotations

import collections
import functools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap import pipeline

Jit = Callable[..., Any]
PROGRAMS: dict[str, Callable[[Jit], Any]] = {}


def program(function: Callable[[Jit], Any]) -> Callable[[Jit], Any]:
    """A program written for any jit; what it returns is compared."""
    PROGRAMS[function.__name__] = function
    return function


@functools.cache
def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()), ("x",))


def rows() -> NamedSharding:
    return NamedSharding(mesh(), P("x", None))


def field() -> jax.Array:
    return jax.device_put(np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32), rows())


def ring(x: jax.Array, scale: Any = 1.0) -> jax.Array:
    """Two independent permutes beside a matmul: what the pipeline rewrites."""

    def local(x: jax.Array) -> jax.Array:
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        down = jax.lax.ppermute(x, "x", [(i, (i - 1) % 8) for i in range(8)])
        return jnp.tanh(x @ x.T @ x) + scale * up - down

    return jax.shard_map(local, mesh=mesh(), in_specs=P("x", None), out_specs=P("x", None))(x)


@program
def plain(jit: Jit) -> Any:
    return jit(ring)(field())


@program
def static_arguments(jit: Jit) -> Any:
    def power(x: jax.Array, n: int, *, flip: bool) -> jax.Array:
        return ring(-x if flip else x) ** n

    f = jit(power, static_argnums=1, static_argnames="flip")
    return f(field(), 2, flip=True), f(field(), 3, flip=False)


@program
def donation(jit: Jit) -> Any:
    x, y = field(), field() + 1
    f = jit(lambda x, y: (ring(x), y * 2), donate_argnums=(0,), donate_argnames=("y",))
    result = f(x, y)
    return result, x.is_deleted(), y.is_deleted()


@program
def donation_of_a_tree(jit: Jit) -> Any:
    state = {"w": field(), "step": jnp.zeros((), jnp.int32)}
    f = jit(lambda s: {"w": ring(s["w"]), "step": s["step"] + 1}, donate_argnums=0)
    return f(state), [leaf.is_deleted() for leaf in jax.tree.leaves(state)]


@program
def given_shardings(jit: Jit) -> Any:
    whole = NamedSharding(mesh(), P())
    f = jit(lambda x: (ring(x), x.sum(0)), in_shardings=rows(), out_shardings=(whole, rows().update(spec=P("x"))))
    return f(np.ones((16, 8), np.float32))


@program
def automatic_shardings(jit: Jit) -> Any:
    return jit(lambda x: jnp.roll(x, 1, axis=0) @ x.T)(field())


@program
def trees(jit: Jit) -> Any:
    pair = collections.namedtuple("pair", "first second")
    f = jit(lambda tree, *, extra=None: {"a": pair(ring(tree["x"]), None), "b": [tree["n"] + 1, extra]})
    return f({"x": field(), "n": 1}), f({"x": field(), "n": 1}, extra=(2.0,))


@program
def closed_over_arrays(jit: Jit) -> Any:
    weights = np.arange(8, dtype=np.float32)
    return jit(lambda x: ring(x) * weights)(field())


@program
def grad_around(jit: Jit) -> Any:
    return jax.value_and_grad(lambda x: jit(ring)(x).sum())(field())


@program
def grad_inside(jit: Jit) -> Any:
    return jit(jax.value_and_grad(lambda x: ring(x).sum()))(field())


@program
def second_derivatives(jit: Jit) -> Any:
    f = jit(lambda x: (x**3).sum())
    return jax.hessian(f)(jnp.arange(3.0)), jax.jvp(jax.grad(f), (jnp.arange(3.0),), (jnp.ones(3),))


@program
def vjp_and_linearize(jit: Jit) -> Any:
    f = jit(ring)
    value, pull = jax.vjp(f, field())
    also, push = jax.linearize(f, field())
    return value, pull(field()), also, push(field())


@program
def vmap_around(jit: Jit) -> Any:
    return jax.vmap(jit(lambda x, y: x @ y), in_axes=(0, None))(jnp.ones((4, 3, 3)), jnp.eye(3))


@program
def vmap_inside(jit: Jit) -> Any:
    return jit(jax.vmap(lambda x: jnp.tanh(x).sum()))(field())


@program
def scan_around(jit: Jit) -> Any:
    f = jit(ring)
    return jax.lax.scan(lambda x, _: (f(x), x.sum()), field(), length=3)


@program
def scan_inside(jit: Jit) -> Any:
    return jit(lambda x: jax.lax.scan(lambda x, _: (ring(x), x.sum()), x, length=3))(field())


@program
def loops_and_branches(jit: Jit) -> Any:
    def walk(x: jax.Array) -> jax.Array:
        x = jax.lax.fori_loop(0, 3, lambda _, x: ring(x), x)
        return jax.lax.cond(x.sum() > 0, ring, lambda x: -ring(x), x)

    return jit(walk)(field())


@program
def nested(jit: Jit) -> Any:
    inner = jit(ring)
    return jax.jit(lambda x: inner(x) + 1)(field()), jit(lambda x: jax.jit(ring)(x) + 1)(field())


@program
def nested_in_itself(jit: Jit) -> Any:
    return jit(jit(ring))(field()), jit(lambda x: jit(ring)(jit(ring)(x)))(field())


@program
def remat_and_custom_rules(jit: Jit) -> Any:
    @jax.custom_vjp
    def clipped(x: jax.Array) -> jax.Array:
        return jit(jnp.sin)(x)

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (jnp.clip(g, -1, 1) * x,))
    return jax.grad(lambda x: jax.checkpoint(jit(ring))(clipped(x)).sum())(field())


@program
def stages(jit: Jit) -> Any:
    f = jit(ring, static_argnums=1)
    traced = f.trace(field(), 2.0)
    lowered = traced.lower()
    compiled = lowered.compile()
    return (
        str(traced.jaxpr),
        lowered.as_text(),
        lowered.out_info,
        compiled.input_shardings,
        compiled.output_shardings,
        compiled.out_tree,
        compiled(field()),
        f.lower(field(), 2.0).compile()(field()),
    )


@program
def abstract_values(jit: Jit) -> Any:
    f = jit(lambda x: {"y": ring(x)})
    return f.eval_shape(field()), jax.eval_shape(f, field()), str(jax.make_jaxpr(f)(field()))


@program
def exported(jit: Jit) -> Any:
    made = jax.export.export(jit(ring))(field())
    return jax.export.deserialize(made.serialize()).call(field()), jit(made.call)(field()), made.nr_devices


@program
def other_shapes_compile_again(jit: Jit) -> Any:
    traces = []

    def f(x: Any) -> Any:
        traces.append(1)
        return x * 2

    jitted = jit(f)
    results = [jitted(x) for x in (1, 1, 1.0, np.ones(3), np.ones(3), np.ones(4), np.ones(3, np.int8))]
    size = jitted._cache_size()
    jitted.clear_cache()
    return results, jitted(1), len(traces), size


@program
def without_inputs_or_results(jit: Jit) -> Any:
    return jit(lambda: jnp.ones(3))(), jit(lambda x: None)(1), jit(lambda x: x)(field())


@program
def kept_and_inlined(jit: Jit) -> Any:
    return jit(lambda x, unused: x + 1, keep_unused=True)(1, 2), jit(lambda x: x + 1, inline=True)(1)


@program
def random_keys(jit: Jit) -> Any:
    key = jit(lambda key: jax.random.split(key)[0])(jax.random.key(0))
    return jax.random.key_data(key), jit(jax.random.normal, static_argnums=1)(key, (4,))


@program
def callbacks(jit: Jit) -> Any:
    seen: list[float] = []

    def f(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
        return jax.pure_callback(lambda v: np.asarray(v) + 1, jax.ShapeDtypeStruct((), jnp.float32), x)

    results = [jit(f)(jnp.float32(x)) for x in (1, 2)]
    jax.effects_barrier()
    return results, seen


@program
def methods_and_decorators(jit: Jit) -> Any:
    class Model:
        scale = 3

        @functools.partial(jit, static_argnums=0)
        def apply(self, x: Any) -> Any:
            """Scales."""
            return x * self.scale

    return Model().apply(2), Model.apply.__name__, Model.apply.__doc__, Model.apply.__wrapped__ is not None


@program
def options_of_the_user(jit: Jit) -> Any:
    return jit(ring, compiler_options={"xla_cpu_enable_fast_math": False})(field())


@program
def pmapped(jit: Jit) -> Any:
    return jax.pmap(jit(lambda x: jax.lax.psum(x, "i") + x), axis_name="i")(jnp.arange(8.0))


@program
def threads(jit: Jit) -> Any:
    f, results = jit(lambda x: x @ x), {}

    def work(size: int) -> None:
        results[size] = f(np.ones((size, size)))

    workers = [threading.Thread(target=work, args=(size,)) for size in (2, 3, 4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [results[size] for size in sorted(results)]


@program
def wrong_shapes(jit: Jit) -> Any:
    return jit(lambda x, y: x @ y)(np.ones((2, 3)), np.ones((2, 3)))


@program
def wrong_argument(jit: Jit) -> Any:
    return jit(lambda x: x)("text")


@program
def unhashable_static(jit: Jit) -> Any:
    return jit(lambda x, n: x, static_argnums=1)(1, [2])


@program
def bool_of_a_tracer(jit: Jit) -> Any:
    return jit(lambda x: 1 if x > 0 else 2)(1)


@program
def error_of_the_function(jit: Jit) -> Any:
    return jit(lambda x: {}["absent"])(1)


@program
def donated_twice(jit: Jit) -> Any:
    f, x = jit(lambda x: x + 1, donate_argnums=0), jnp.ones(4)  # with several devices 0.10.2 itself crashes
    f(x)
    return f(x)


@program
def unknown_option_of_xla(jit: Jit) -> Any:
    return jit(lambda x: x + 1, compiler_options={"xla_no_such_option": 1})(1)


@program
def options_in_a_nested_jit(jit: Jit) -> Any:
    return jax.jit(jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": False}))(1)


@program
def bad_jit_option(jit: Jit) -> Any:
    return jit(lambda x: x, static_argnums=5)(1)


@program
def debugged_nans(jit: Jit) -> Any:
    with jax.debug_nans(True):
        return jit(lambda x: jnp.log(x))(-1.0)


class Observed:
    """What can be seen of a run that finds nothing compiled, as plain values."""

    def __init__(self, run: Callable[[], Any]) -> None:
        jax.clear_caches()
        compiles: list[str] = []
        jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compiles.append(name))
        self.error: tuple[type, str] | None = None
        self.results: list[Any] = []
        try:
            self.results = [_seen(leaf) for leaf in jax.tree.leaves(run(), is_leaf=lambda x: x is None)]
        except Exception as error:
            self.error = type(error), re.sub("0x[0-9a-f]+", "ADDRESS", str(error).split("\n")[0])
        self.compiles = compiles.count("/jax/core/compile/backend_compile_duration")


def _seen(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return leaf
    shards = [(shard.index, np.asarray(shard.data).tobytes()) for shard in leaf.addressable_shards]
    return leaf.aval, leaf.sharding, leaf.committed, leaf.format, str(shards)


@pytest.fixture(autouse=True)
def no_listeners() -> Iterator[None]:
    yield
    jax.monitoring.clear_event_listeners()


@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_as_jax_jit(name: str) -> None:
    expected = Observed(lambda: PROGRAMS[name](jax.jit))
    seen = Observed(lambda: PROGRAMS[name](pipeline.jit))
    assert seen.error == expected.error
    assert seen.results == expected.results
    assert seen.compiles == expected.compiles


@pytest.mark.parametrize("name", ["plain", "donation", "scan_inside", "grad_around", "stages", "given_shardings"])
def test_these_programs_were_rewritten(name: str) -> None:
    """Else the comparison above would prove nothing."""
    pipeline.clear_records()
    PROGRAMS[name](pipeline.jit)
    assert "rewritten" in {entry.outcome for entry in pipeline.records()}
    assert "failed" not in {entry.outcome for entry in pipeline.records()}


def test_an_inner_jit_is_compiled_as_part_of_the_outer() -> None:
    pipeline.clear_records()
    inner = pipeline.jit(ring)
    jax.block_until_ready(jax.jit(lambda x: inner(x) + 1)(field()))
    assert not pipeline.records()
    jax.block_until_ready(pipeline.jit(lambda x: inner(x) + 1)(field()))
    assert [entry.outcome for entry in pipeline.records()] == ["rewritten"]
