"""Holds programs to try hloverlap on: real JAX code, each with the transfers of one kind of model.

``SAMPLES`` lists them without importing JAX; ``sample("ring_matmul").build()`` gives the program. Beside each program
lies the module it lowers to, such as ``ring_matmul.mlir``: ``module_path("ring_matmul")``. ``replica_ring.mlir`` has no
program: it is written by hand in replica mode, which ``jax.pmap`` no longer lowers to.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import pathlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

    from hloverlap.tools.samples.program import Program


@dataclasses.dataclass(frozen=True)
class Sample:
    """One entry of the table. The module ``hloverlap.tools.samples.NAME`` has the program's ``build``."""

    name: str
    summary: str
    devices: int = 8
    topology: str = "2x4"  # HOSTSxDEVICES on which the sample's transfers are of interest

    def build(self, devices: Sequence[jax.Device] | None = None, **sizes: Any) -> Program:
        """Builds the program on these devices, by default the first ``self.devices`` of JAX's, with the sizes by name.

        Raises ValueError where there are too few devices, or the sizes do not divide among them.
        """
        import jax

        if devices is None:
            devices = jax.devices()[: self.devices]
            if len(devices) < self.devices:
                raise ValueError(f"sample '{self.name}' needs {self.devices} devices and JAX has {len(devices)}")
        build = importlib.import_module(f"{__name__}.{self.name}").build
        known = [name for name in inspect.signature(build).parameters if name != "devices"]
        if unknown := [name for name in sizes if name not in known]:
            raise ValueError(f"sample '{self.name}' has no size '{unknown[0]}'; it has {', '.join(known)}")
        program: Program = build(devices, **sizes)
        return program


SAMPLES: tuple[Sample, ...] = (
    Sample("ring_matmul", "two-direction ring collective matmul in a loop: half of each block goes each way"),
    Sample(
        "ring_matmul_unrolled",
        "the same ring unrolled: XLA's dot merger may join its matmuls and take the overlap away",
        devices=4,
        topology="1x4",
    ),
    Sample("ring_attention", "attention over a sequence split among devices: keys and values go round one ring"),
    Sample("ring_attention_grad", "the gradient of ring attention: keys, values and their gradients on rings"),
    Sample("halo_exchange", "stencil steps on a 2-D mesh: halos and corners from eight neighbours"),
    Sample("gpipe", "pipeline of stages over microbatches, with its gradient: one permute a step, nothing independent"),
    Sample("moe_shifts", "mixture of experts: blocks of several sizes and dtypes sent to experts at several distances"),
    Sample("pmap_ring", "all-reduce as a two-direction ring under jax.pmap"),
    Sample("small_transfers", "sixteen small arrays of mixed dtypes copied to the partner host"),
    Sample("rolls", "automatic sharding: jnp.roll both ways, permutes that only the partitioner makes"),
    Sample("sharded_convolution", "automatic sharding: a convolution of images divided by rows, and its halos"),
    Sample("tensor_parallel_mlp", "automatic sharding: an MLP divided by hidden units, with its gradient"),
    Sample("tensor_parallel_block", "automatic sharding: a transformer block divided by heads, with its gradient"),
    Sample("fsdp_step", "automatic sharding: a training step with all parameters divided among all devices"),
    Sample("expert_layer", "automatic sharding: tokens sent to experts and back by two all-to-alls"),
)


def sample(name: str) -> Sample:
    """Finds the sample of this name. Raises ValueError, with the nearest name, where there is none."""
    for entry in SAMPLES:
        if entry.name == name:
            return entry
    names = [entry.name for entry in SAMPLES]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names)}"
    raise ValueError(f"no sample is called '{name}'; {hint}")


def module_path(name: str) -> pathlib.Path:
    """Says where the shipped module of a sample lies."""
    return pathlib.Path(__file__).with_name(f"{name}.mlir")
