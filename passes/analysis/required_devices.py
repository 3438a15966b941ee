"""Says for how many devices a module must be, by the ids that its collectives name: XLA takes what is unsaid for 1."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis import async_pairs
from hloverlap.passes.analysis.collectives import PERMUTE, Collective, collectives_in, mode_of
from hloverlap.passes.analysis.replica_groups import GLOBAL, ReplicaGroups
from hloverlap.passes.mlir.meshes import Meshes
from hloverlap.passes.mlir.modules import PARTITIONS, REPLICAS, DeviceCounts, device_counts


def required_counts(module: ir.Operation, groups: ReplicaGroups | None = None) -> DeviceCounts:
    """Counts what the module says it is for; where it does not say, what its collectives and meshes need.

    Raises MeshError for a mesh or an axis that is not there.
    """
    said = device_counts(module)
    if said.replicas is not None and said.partitions is not None:
        return said
    groups = groups or ReplicaGroups(module)
    needed = {"replica": 1, "partition": max((mesh.size for mesh in Meshes(module).all()), default=1)}
    for op in collectives_in(module):
        pairs = Collective.of(op).pairs
        listed = pairs if pairs or op.name == PERMUTE else groups.listed(op)
        count = 1 + max((number for ids in listed for number in ids), default=0)
        mode = "partition" if GLOBAL in op.attributes or async_pairs.is_global(op) else mode_of(op)
        needed[mode] = max(needed[mode], count)
    return DeviceCounts(said.replicas or needed["replica"], said.partitions or needed["partition"])


def shortage(module: ir.Operation) -> str:
    """Says in a sentence what a module that does not say for how many devices it is has to say; "" where it suffices.

    Raises MeshError.
    """
    said, needed = device_counts(module), required_counts(module)
    lacking = [
        (name, count)
        for name, is_said, count in (
            (PARTITIONS, said.partitions, needed.partitions),
            (REPLICAS, said.replicas, needed.replicas),
        )
        if is_said is None and count is not None and count > 1
    ]
    if not lacking:
        return ""
    attributes = " and ".join(f"{name} = {count} : i32" for name, count in lacking)
    return (
        f"The module does not say for how many devices it is, which XLA takes for one, and its collectives need "
        f"{needed.devices}: give the module the attributes {{{attributes}}}."
    ).replace("attributes {", "attribute {" if len(lacking) == 1 else "attributes {")
