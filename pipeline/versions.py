"""The one place for what differs between jax versions, and for every private function of jax that is used.

Nothing here imports jax at module level: `import jax` costs half a second that hlo-opt does not pay.
"""

from __future__ import annotations

from collections.abc import Mapping

# --- compiling for a GPU that is not there (used by gpu_child only) --------------------------------------------------


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
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
    from jax.experimental import topologies
    from jaxlib.mlir import ir

    jax.config.update("jax_platforms", "cpu")
    target = {"target_config": target_config} if target_config else {}
    devices = topologies.get_topology_desc(platform="cuda", topology=topology, **target).devices
    count = replicas * partitions
    with mlir.make_ir_context():
        module = ir.Module.parse(module_bytes)
        compile_options = compiler.get_compile_options(
            num_replicas=replicas,
            num_partitions=partitions,
            device_assignment=np.arange(count).reshape(replicas, partitions),
            env_options_overrides=dict(options),
        )
        compile_options.executable_build_options.use_shardy_partitioner = shardy
        devices[0].client.compile(module, _jax.DeviceList(tuple(devices[:count])), compile_options)
