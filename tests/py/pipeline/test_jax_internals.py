"""What the private functions of jax that the package uses do: a failure here says what works otherwise.

test_private_names.py says which of them are gone.
"""

import importlib
import inspect

import jax
import numpy as np
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.jax_internals import arrays, distributed, executables, hlo, jit_hook, lowerings


def test_arguments_of_the_options_of_a_compile():
    from jax._src import compiler

    names = inspect.signature(compiler.get_compile_options).parameters
    assert {"num_replicas", "num_partitions", "device_assignment", "env_options_overrides"} <= names.keys()


def test_arguments_of_the_function_through_which_jit_compiles():
    from jax._src import compiler

    names = list(inspect.signature(compiler.compile_or_get_cached).parameters)
    assert names[:4] == ["backend", "computation", "devices", "compile_options"]


def doubled():
    return jax.jit(lambda x: x * 2, compiler_options={"xla_cpu_enable_fast_math": False})


def test_a_lowering_knows_its_module_devices_and_options():
    lowered = doubled().lower(np.ones(3, np.float32))
    assert isinstance(lowerings.module_of(lowered), ir.Module)
    assert lowerings.devices_of(lowered) == (jax.devices()[0],)
    assert lowerings.compiler_options_of(lowered) == {"xla_cpu_enable_fast_math": False}


def test_a_lowering_takes_another_module_and_the_original_keeps_its_own():
    one = np.ones(3, np.float32)
    lowered = doubled().lower(one)
    module = lowerings.module_of(lowered)
    tripled = ir.Module.parse(str(module).replace("2.000000e+00", "3.000000e+00"), module.context)
    assert lowerings.with_module(lowered, tripled).compile()(one).tolist() == [3, 3, 3]
    assert lowered.compile()(one).tolist() == [2, 2, 2]


def test_an_executable_tells_which_part_of_a_parameter_each_device_holds():
    text = """module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
      func.func public @main(%a: tensor<4x6xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}, %b: tensor<5xf32>)
          -> tensor<4x6xf32> {
        return %a : tensor<4x6xf32>
      }
    }"""
    from hloverlap.passes.mlir.dialects import make_context

    devices = jax.devices()[:2]
    executable = executables.compile_and_load(ir.Module.parse(text, make_context()), devices, 1, 2, {}, shardy=False)
    cut, whole = executables.parameter_slices(executable, devices, [(4, 6), (5,)])
    matrix = np.arange(24).reshape(4, 6)
    assert [matrix[part][0].tolist() for part in cut] == [[0, 1, 2], [3, 4, 5]]
    assert [np.arange(5)[part].tolist() for part in whole] == [[0, 1, 2, 3, 4]] * 2


def test_an_unknown_option_is_refused():
    from hloverlap.passes.mlir.dialects import make_context

    module = ir.Module.parse("module { func.func @main() { return } }", make_context())
    with pytest.raises(Exception, match="xla_no_such_option"):
        executables.compile_and_load(module, jax.devices()[:1], 1, 1, {"xla_no_such_option": 1}, shardy=False)


def test_a_wrapped_compile_sees_the_module_the_devices_and_the_options():
    seen = []

    def wrapper(compile):
        def wrapped(backend, module, devices, options, *rest, **named):
            seen.append((backend.platform, module, list(devices.flat), jit_hook.option_overrides(options)))
            jit_hook.set_option_overrides(options, {})
            return compile(backend, module, devices, options, *rest, **named)

        return wrapped

    undo = jit_hook.wrap_compile(wrapper)
    try:
        result = jax.jit(lambda x: x + 1, compiler_options={"not_of_xla": "7"})(1)
    finally:
        undo()
    assert result == 2
    ((platform, module, devices, options),) = seen
    assert (platform, devices, options) == ("cpu", [jax.devices()[0]], {"not_of_xla": "7"})
    assert isinstance(module, ir.Module)


def test_an_option_can_be_allowed_in_nested_jits():
    inner = jax.jit(lambda x: x + 1, compiler_options={"ours": "7"})
    undo = jit_hook.allow_in_nested_jits("ours")
    try:
        assert jax.jit(inner)(1) == 2
    finally:
        undo()
    with pytest.raises(ValueError, match="compiler_options"):
        jax.jit(lambda x: inner(x))(1)


def test_a_user_context_is_part_of_the_key_of_jits_cache():
    context, traces = jit_hook.user_context(), []
    f = jax.jit(lambda x: traces.append(context.value) or x)
    for value in ("a", "b", "a", None):
        with context(value):
            f(1)
    context.set_global("a")
    f(1)
    context.set_global(None)
    assert traces == ["a", "b", None]


def test_executables_that_are_alive():
    compiled = jax.jit(lambda alive: alive + 1).lower(1).compile()
    names = [executable.hlo_modules()[0].name for executable in executables.live_executables()]
    assert "jit__lambda" in names
    assert compiled(1) == 2


def test_hlo_is_read_and_made_stablehlo():
    text = """HloModule m
    ENTRY e {
      x = f32[4] parameter(0)
      ROOT y = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}},
          frontend_attributes={mine="1"}
    }"""
    module = importlib.import_module("jaxlib._hlo").hlo_module_from_text(text)
    again = hlo.from_proto(module.as_serialized_hlo_module_proto())
    assert [permute.name for permute in hlo.permutes(again)] == ["y"]
    converted = ir.Module.parse(hlo.proto_to_stablehlo(hlo.to_proto(again)), make_context())
    assert 'mhlo.frontend_attributes = {mine = "1"}' in str(converted)
    assert hlo.can_annotate() == (tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 12))


def test_transformations_of_hlo_are_for_gpus_that_are_there():
    platforms = jit_hook.add_transformation("hloverlap-test", lambda proto: None)
    assert set(platforms) <= {"cuda", "rocm"}
    for platform in platforms:
        jit_hook.remove_transformation("hloverlap-test", platform)


def test_shards_are_those_of_the_public_interface_in_the_order_of_the_devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4])[::-1], ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    array = jax.device_put(np.arange(8.0, dtype=np.float32), sharding)
    shards = arrays.local_shards(array)
    assert [shard.device for shard in shards] == list(sharding.addressable_devices_indices_map(array.shape))
    by_device = {shard.device: shard.data for shard in array.addressable_shards}
    for shard in shards:
        np.testing.assert_array_equal(shard, by_device[shard.device])


def test_assembled_arrays_are_like_those_of_the_public_function():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    shards = [jax.device_put(np.full(2, n, np.int8), device) for n, device in enumerate(mesh.devices.flat)]
    ours = arrays.assembler((8,), np.dtype(np.int8), sharding)(shards)
    theirs = jax.make_array_from_single_device_arrays((8,), sharding, shards)
    assert (ours.aval, ours.sharding, ours.committed) == (theirs.aval, theirs.sharding, theirs.committed)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(jax.jit(lambda x: x + x)(ours), 2 * np.asarray(theirs))


def test_without_jax_distributed_nobody_says_anything():
    assert distributed.exchange("test", "value", [0], 1.0) == []
