"""Compiles one module for virtual CPU devices and runs it on random inputs. Only the child of a check imports it.

Every device's data is made from the module alone: the global array of each parameter is cut as the compiled
executable's own parameter shardings say, and each replica gets arrays of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from hloverlap.passes.machine import xla_options
from hloverlap.pipeline.equivalence import inputs
from hloverlap.pipeline.equivalence.entry import Entry
from hloverlap.pipeline.jax_internals import executables

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.entry import OpenSides
    from hloverlap.pipeline.equivalence.inputs import Array, Kind

# Each op a kernel of its own. In a fused kernel LLVM joins a multiply and an add into one that rounds once, and picks
# which of two NaNs lives on; what is fused changes when a transfer beside it does, and with it the bits, though every
# op is as it was. Compiling takes about twice the time, so only a difference is looked at this way.
UNFUSED: dict[str, int | bool | str] = {
    xla_options.DISABLED_PASSES: "fusion",
    xla_options.EXCESS_PRECISION: False,  # f32 -> bf16 -> f32 rounds, whatever is in between
}

# The same, and each op as it is written: the simplifier makes a product with a reciprocal of a division or does not,
# depending on how often a value is used, and that depends on what stands beside it.
UNSIMPLIFIED = UNFUSED | {xla_options.DISABLED_PASSES: "fusion,algsimp"}

# UNFUSED, and bf16 as it is: XLA:CPU sends and moves it as f32, which gives a signalling NaN another payload, so a
# rewrite which sends the bits themselves seems to differ. Not every module compiles this way: 0.10.2 has no bf16 dot.
UNWIDENED = UNFUSED | {xla_options.DISABLED_PASSES: "fusion,float-normalization-bf16"}


class CompiledProgram:
    """Holds a compiled module. options: XLA's, by name. Making one raises whatever XLA raises."""

    def __init__(
        self,
        module: ir.Module,
        entry: Entry,
        options: Mapping[str, int | bool | str],
        open_sides: OpenSides = ((), ()),
    ) -> None:
        self.entry = entry
        self.devices = jax.devices("cpu")[: entry.replicas * entry.partitions]
        self._executable = executables.compile_and_load(
            module, self.devices, entry.replicas, entry.partitions, options, entry.shardy, *open_sides
        )
        self._slices = executables.parameter_slices(
            self._executable, self.devices[: entry.partitions], [parameter.shape for parameter in entry.parameters]
        )

    def memory(self) -> int:
        """Counts the bytes that one run needs on all devices together: arguments, results and temporaries."""
        stats = self._executable.get_compiled_memory_stats()
        device = stats.argument_size_in_bytes + stats.output_size_in_bytes + stats.temp_size_in_bytes
        return int(device) * len(self.devices)

    def run(self, kind: Kind, seed: int) -> list[list[Array]]:
        """Runs once on fresh buffers and waits for the end; result[output][device] is that device's part.

        Of several processes, each gives the parts of its own devices.
        """
        arguments = [self._argument(position, kind, seed) for position in range(len(self.entry.parameters))]
        outputs = self._executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        jax.block_until_ready(outputs)
        return [[np.asarray(shard) for shard in shards] for shards in outputs]

    def _argument(self, position: int, kind: Kind, seed: int) -> jax.Array:
        parameter, slices = self.entry.parameters[position], self._slices[position]
        shards: list[jax.Array] = []
        devices = iter(self.devices)
        for replica in range(self.entry.replicas):
            name = (seed, 0 if parameter.same_on_replicas else replica, position)
            whole = inputs.random_array(parameter.shape, parameter.dtype, kind, name)
            for part in slices:
                device = next(devices)
                if device.process_index == jax.process_index():
                    # A copy, because the module may be given the buffer to write over.
                    shards.append(jax.device_put(whole[part].copy(), device))
        # Executables look at the buffers, not at the global shape: call them copies of one small array.
        sharding = NamedSharding(Mesh(np.array(self.devices), "device"), PartitionSpec())
        return jax.make_array_from_single_device_arrays(shards[0].shape, sharding, shards)
