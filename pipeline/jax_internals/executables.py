"""Compiles modules for devices that are chosen by hand, there or not, and asks what is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

if TYPE_CHECKING:
    import jax

Slices = tuple[slice, ...]


def compile_for_gpu(
    module_bytes: bytes,
    target_config: str,
    topology: str,
    replicas: int,
    partitions: int,
    shardy: bool,
    options: Mapping[str, int | bool | str],
    open_arguments: Sequence[bool] = (),
    open_results: Sequence[bool] = (),
) -> None:
    """Compiles an MLIR module (text or bytecode) with XLA:GPU for the first replicas x partitions devices.

    target_config: a GpuTargetConfigProto in text form; "" asks the GPU that is there.
    topology: XLA's text, NVLink domains x hosts in each x GPUs per host.
    open_arguments, open_results: as for `compile_and_load`.
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
        open_sides = open_arguments, open_results
        compile_options = _compile_options(range(count), replicas, partitions, options, shardy, open_sides)
        client: Any = devices[0].client  # type: ignore[attr-defined]
        client.compile(module, _jax.DeviceList(tuple(devices[:count])), compile_options)


def compile_and_load(
    module: ir.Module,
    devices: Sequence[jax.Device],
    replicas: int,
    partitions: int,
    options: Mapping[str, int | bool | str],
    shardy: bool,
    open_arguments: Sequence[bool] = (),
    open_results: Sequence[bool] = (),
) -> Any:
    """Compiles `module` for ``replicas * partitions`` devices and loads it; returns jaxlib's LoadedExecutable.

    options: XLA's, by name, such as ``{"xla_disable_hlo_passes": "fusion"}``. shardy: let Shardy partition, else GSPMD.
    open_arguments, open_results: for each whether XLA may choose its sharding, as jit lets it; (): for none.
    """
    from jaxlib import _jax

    identifiers = [device.id for device in devices]
    open_sides = open_arguments, open_results
    compile_options = _compile_options(identifiers, replicas, partitions, options, shardy, open_sides)
    client: Any = devices[0].client
    return client.compile_and_load(module, _jax.DeviceList(tuple(devices)), compile_options)


def preload() -> None:
    """Imports what the functions here need, but makes no client: a process can fork after it."""
    import jax  # noqa: F401
    import numpy as np  # noqa: F401
    from jax._src import compiler  # noqa: F401
    from jax._src.interpreters import mlir  # noqa: F401
    from jax.experimental import topologies  # noqa: F401


def parameter_slices(
    executable: Any, devices: Sequence[jax.Device], shapes: Sequence[tuple[int, ...]]
) -> list[list[Slices]]:
    """Says which part of each global parameter each of one replica's `devices` holds: result[parameter][partition].

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


def live_executables() -> list[Any]:
    """Lists jaxlib's loaded executables of all backends that are up, without starting one; [] when none is."""
    from jax._src import xla_bridge

    if not xla_bridge.backends_are_initialized():
        return []
    return [executable for client in xla_bridge.backends().values() for executable in client.live_executables()]


def _compile_options(
    device_ids: Sequence[int],
    replicas: int,
    partitions: int,
    options: Mapping[str, int | bool | str],
    shardy: bool,
    open_sides: tuple[Sequence[bool], Sequence[bool]],
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
    build_options = compile_options.executable_build_options
    build_options.use_shardy_partitioner = shardy
    open_arguments, open_results = open_sides
    if open_arguments:
        build_options.allow_spmd_sharding_propagation_to_parameters = list(open_arguments)
    if open_results:
        build_options.allow_spmd_sharding_propagation_to_output = list(open_results)
    return compile_options
