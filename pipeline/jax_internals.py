"""The one place for what differs between jax versions, and for every private function of jax that is used.

Nothing here imports jax at module level: `import jax` costs half a second that hlo-opt does not pay.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

if TYPE_CHECKING:
    import jax

Slices = tuple[slice, ...]

# --- lowerings (used by compiling) ------------------------------------------------------------------------------------


def lowered_module(lowered: jax.stages.Lowered) -> ir.Module:
    """The StableHLO module of a lowering. It is shared with jit's cache: read it, never change it."""
    module = lowered.compiler_ir("stablehlo")
    assert isinstance(module, ir.Module), type(module)
    return module


def lowered_devices(lowered: jax.stages.Lowered) -> tuple[jax.Device, ...]:
    """The devices that the lowering is for, in the order of its partitions; () when it names none."""
    devices = lowered._lowering._device_list  # type: ignore[attr-defined]
    return () if devices is None else tuple(devices)


def lowered_compiler_options(lowered: jax.stages.Lowered) -> dict[str, Any]:
    """What the user gave as ``jax.jit(f, compiler_options=...)``."""
    return dict(lowered._lowering._compiler_options_kvs)  # type: ignore[attr-defined]


def with_module(lowered: jax.stages.Lowered, module: ir.Module) -> jax.stages.Lowered:
    """A copy of `lowered` whose `compile` compiles `module`: same arguments, donation, shardings and effects.

    `module` must live in the context of `lowered_module(lowered)`. `lowered` and jit's cache keep the original.
    """
    lowering = copy.copy(lowered._lowering)
    lowering._hlo = module  # type: ignore[attr-defined]
    lowering._executable = None  # type: ignore[attr-defined]
    copied = copy.copy(lowered)
    copied._lowering = lowering
    return copied


# --- compiling for a GPU that is not there (used by compile_child only) ---------------------------------------------


def compile_for_gpu(
    module_bytes: bytes,
    target_config: str,
    topology: str,
    replicas: int,
    partitions: int,
    shardy: bool,
    options: Mapping[str, int | bool | str],
) -> None:
    """Compiles an MLIR module (text or bytecode) with XLA:GPU for the first replicas x partitions devices.

    target_config: a GpuTargetConfigProto in text form; "" asks the GPU that is there.
    topology: XLA's text, NVLink domains x hosts in each x GPUs per host.
    Raises what jax and XLA raise; XLA may also abort the process.
    """
    import jax
    from jax._src.interpreters import mlir
    from jax.experimental import topologies
    from jaxlib import _jax

    jax.config.update("jax_platforms", "cpu")
    target = {"target_config": target_config} if target_config else {}
    devices = topologies.get_topology_desc(platform="cuda", topology=topology, **target).devices
    count = replicas * partitions
    with mlir.make_ir_context():
        module = ir.Module.parse(module_bytes)
        compile_options = _compile_options(range(count), replicas, partitions, options, shardy)
        client: Any = devices[0].client  # type: ignore[attr-defined]
        client.compile(module, _jax.DeviceList(tuple(devices[:count])), compile_options)


# --- running on virtual CPU devices (used by the checking child only) -------------------------------------------------


def compile_and_load(
    module: ir.Module,
    devices: Sequence[jax.Device],
    replicas: int,
    partitions: int,
    options: Mapping[str, int | bool | str],
    shardy: bool,
) -> Any:
    """Compiles `module` for ``replicas * partitions`` devices and loads it; returns jaxlib's LoadedExecutable.

    options: XLA's, by name, such as ``{"xla_disable_hlo_passes": "fusion"}``. shardy: let Shardy partition, else GSPMD.
    """
    from jaxlib import _jax

    identifiers = [device.id for device in devices]
    compile_options = _compile_options(identifiers, replicas, partitions, options, shardy)
    client: Any = devices[0].client
    return client.compile_and_load(module, _jax.DeviceList(tuple(devices)), compile_options)


def join_processes(coordinator: str, processes: int, process: int) -> None:
    """Makes this one of several processes whose CPU devices together are jax's; they talk over gloo.

    coordinator: host:port, where process 0 listens. Before jax has any devices.
    """
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, processes, process)


def parameter_slices(
    executable: Any, devices: Sequence[jax.Device], shapes: Sequence[tuple[int, ...]]
) -> list[list[Slices]]:
    """Which part of each global parameter each of one replica's `devices` holds: result[parameter][partition].

    shapes: the global shape of each parameter. Raises ValueError for a sharding that does not divide the shape.
    """
    from jax._src.sharding_impls import GSPMDSharding

    shardings = executable.get_parameter_shardings()
    if not shardings:  # the partitioner did not run: every device holds everything
        return [[tuple(map(slice, shape))] * len(devices) for shape in shapes]
    found: list[list[Slices]] = []
    for sharding, shape in zip(shardings, shapes, strict=True):
        indices = GSPMDSharding(tuple(devices), sharding).devices_indices_map(shape)
        found.append([tuple(indices[device]) for device in devices])
    return found


def _compile_options(
    device_ids: Sequence[int],
    replicas: int,
    partitions: int,
    options: Mapping[str, int | bool | str],
    shardy: bool,
) -> Any:
    import numpy as np
    from jax._src import compiler

    overrides: dict[str, Any] = dict(options)
    compile_options = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=np.array(device_ids).reshape(replicas, partitions),
        env_options_overrides=overrides,
    )
    compile_options.executable_build_options.use_shardy_partitioner = shardy
    return compile_options


# --- compiles of jit (used by jitting only) ---------------------------------------------------------------------------

Compile = Callable[..., Any]
Undo = Callable[[], None]


def user_context() -> Any:
    """A value, by default None, that is part of the key of jit's caches: ``value``, ``set_global``, and a call gives
    a context manager. Making one has jit trace again, once, what was traced before.
    """
    import jax

    return jax.make_user_context(None)


def wrap_compile(wrapper: Callable[[Compile], Compile]) -> Undo:
    """Puts ``wrapper(original)`` in the place of the function through which every jit compiles.

    It is called as ``compile(backend, module, devices, compile_options, *rest)``: jaxlib's client, the StableHLO
    module, the devices in the order of the partitions as an array, jaxlib's CompileOptions. It gives the executable.
    The function that is returned takes it out again.
    """
    from jax._src import compiler

    original = compiler.compile_or_get_cached
    ours = wrapper(original)
    compiler.compile_or_get_cached = ours

    def undo() -> None:
        if compiler.compile_or_get_cached is ours:  # else somebody has wrapped ours, which is told to do nothing
            compiler.compile_or_get_cached = original

    return undo


def option_overrides(compile_options: Any) -> dict[str, Any]:
    """The XLA options that the user set, by ``jax.jit(f, compiler_options=...)`` or ``lowered.compile(...)``."""
    return dict(compile_options.env_option_overrides)


def set_option_overrides(compile_options: Any, overrides: Mapping[str, Any]) -> None:
    """Sets them."""
    compile_options.env_option_overrides = list(overrides.items())


def allow_in_nested_jits(option: str) -> Undo:
    """Has a jit with this compiler option traced inside another jit as if it did not have it; jax refuses that."""
    from jax._src import pjit
    from jax._src.interpreters import partial_eval

    original = partial_eval.custom_staging_rules[pjit.jit_p]

    def rule(trace: Any, source_info: Any, *args: Any, **params: Any) -> Any:
        kept = tuple(pair for pair in params["compiler_options_kvs"] if pair[0] != option)
        return original(trace, source_info, *args, **{**params, "compiler_options_kvs": kept})

    partial_eval.custom_staging_rules[pjit.jit_p] = rule

    def undo() -> None:
        if partial_eval.custom_staging_rules[pjit.jit_p] is rule:
            partial_eval.custom_staging_rules[pjit.jit_p] = original

    return undo


def live_executables() -> list[Any]:
    """jaxlib's loaded executables of all backends that are up; [] when none is. No backend is started."""
    from jax._src import xla_bridge

    if not xla_bridge.backends_are_initialized():
        return []
    return [executable for client in xla_bridge.backends().values() for executable in client.live_executables()]


# --- arrays and their shards (used by transfers only) -----------------------------------------------------------------


def local_shards(array: jax.Array) -> Sequence[jax.Array]:
    """The parts of an array on this process's devices, in the order of ``sharding.addressable_devices_indices_map``.

    ``addressable_shards`` takes twice the time, which counts for hundreds of small arrays.
    """
    shards: Sequence[jax.Array] = array._arrays  # type: ignore[attr-defined]
    return shards


def assembler(shape: tuple[int, ...], dtype: Any, sharding: jax.sharding.Sharding) -> Callable[[Any], jax.Array]:
    """``jax.make_array_from_single_device_arrays`` for many arrays alike, four times as fast: it checks nothing.

    What it gives takes single-device arrays in the order of `local_shards`.
    """
    import jax
    from jax._src import core
    from jax._src.interpreters import pxla

    aval = core.update_aval_with_sharding(jax.core.ShapedArray(shape, dtype), sharding)
    return pxla.global_aval_to_result_handler(aval, sharding, True)


def exchange(name: str, value: str, processes: Sequence[int], seconds: float) -> list[str]:
    """What each of these processes says under this name, which is used but once; [] without ``jax.distributed``.

    Raises what jaxlib raises when one says nothing in time.
    """
    import jax
    from jax._src import distributed

    client: Any = distributed.global_state.client
    if client is None:
        return []
    client.key_value_set(f"{name}/{jax.process_index()}", value)
    return [client.blocking_key_value_get(f"{name}/{process}", int(1000 * seconds)) for process in processes]


# --- HLO after partitioning (used by jitting only) --------------------------------------------------------------------


def can_annotate_hlo() -> bool:
    """Whether instructions take frontend attributes; 0.10.2 cannot set them."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return hasattr(_hlo.HloInstruction, "set_frontend_attribute")


def read_hlo(proto: bytes) -> Any:
    """A serialized HloModuleProto as jaxlib's HloModule."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return _hlo.HloModule.from_serialized_hlo_module_proto(proto)


def hlo_permutes(module: Any) -> list[Any]:
    """The collective permutes of an HloModule, in its order."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    permute = _hlo.HloOpcode.kCollectivePermute
    return [each for inside in module.computations() for each in inside.instructions() if each.opcode == permute]


def hlo_to_stablehlo(module: Any) -> bytes:
    """An HloModule as MLIR bytecode. Frontend attributes stay; the channels' type does not. Raises RuntimeError."""
    from jaxlib import _jax

    converted: bytes = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    return converted


def add_hlo_transformation(name: str, transform: Callable[[bytes], bytes | None]) -> list[str]:
    """Has the GPU backends call `transform` on each HloModuleProto after partitioning; gives their platforms."""
    from jax.extend import xla

    platforms = []
    for platform in ("cuda", "rocm"):
        try:
            xla.register_hlo_module_transformation(transform, name=name, platforms=platform)
            platforms.append(platform)
        except (RuntimeError, ValueError):  # this plugin is not there
            pass
    return platforms


def remove_hlo_transformation(name: str, platform: str) -> None:
    """The opposite."""
    from jax.extend import xla

    xla.clear_hlo_module_transformation(name, platforms=platform)
