"""The one place for what differs between jax versions, and for every private function of jax that is used.

Nothing here imports jax at module level: `import jax` costs half a second that hlo-opt does not pay.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from hloverlap.passes.context import Capabilities

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


# --- compiling for a GPU that is not there (used by compile_child only) --------------------------------------------------


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
    from jax._src.lib import _jax
    from jax.experimental import topologies

    jax.config.update("jax_platforms", "cpu")
    target = {"target_config": target_config} if target_config else {}
    devices = topologies.get_topology_desc(platform="cuda", topology=topology, **target).devices
    count = replicas * partitions
    with mlir.make_ir_context():
        module = ir.Module.parse(module_bytes)
        compile_options = _compile_options(range(count), replicas, partitions, options, shardy)
        devices[0].client.compile(module, _jax.DeviceList(tuple(devices[:count])), compile_options)


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

    options: XLA options by name, such as ``{"xla_cpu_max_isa": "AVX"}``. shardy: let Shardy partition, else GSPMD.
    """
    from jax._src.lib import _jax

    identifiers = [device.id for device in devices]
    compile_options = _compile_options(identifiers, replicas, partitions, options, shardy)
    return devices[0].client.compile_and_load(module, _jax.DeviceList(tuple(devices)), compile_options)


def parameter_slices(
    executable: Any, devices: Sequence[jax.Device], shapes: Sequence[tuple[int, ...]]
) -> list[list[Slices]]:
    """Which part of each global parameter each of one replica's `devices` holds: result[parameter][partition].

    shapes: the global shape of each parameter. Raises ValueError for a sharding that does not divide the shape.
    """
    from jax._src.lib import xla_client
    from jax._src.sharding_impls import GSPMDSharding

    shardings = executable.get_parameter_shardings()
    if not shardings:  # the partitioner did not run: every device holds everything
        return [[tuple(map(slice, shape))] * len(devices) for shape in shapes]
    device_list = xla_client.DeviceList(tuple(devices))
    found: list[list[Slices]] = []
    for sharding, shape in zip(shardings, shapes, strict=True):
        indices = GSPMDSharding(device_list, sharding).devices_indices_map(shape)
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

    compile_options = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=np.array(device_ids).reshape(replicas, partitions),
        env_options_overrides=dict(options),
    )
    compile_options.executable_build_options.use_shardy_partitioner = shardy
    return compile_options


def capabilities() -> Capabilities:
    """What the XLA of this jaxlib can do."""
    import jaxlib

    version = tuple(int(part) for part in jaxlib.__version__.split(".")[:2])
    return Capabilities(group_overlaps_compute=version >= (0, 12))
