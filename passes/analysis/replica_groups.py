"""Reads which devices a collective is between: the one reader of replica groups, in each of their spellings.

StableHLO lists the ids of each group; jax 0.12 names axes of a mesh instead (``replica_group_mesh_axes``), along which
the members of a group differ. Where such a mesh has device ids of its own, XLA takes no notice of them, unlike
StableHLO's reference (seen on XLA:CPU of jaxlib 0.10.2 and 0.12.0); JAX writes none.
What the ids count depends on the op: its mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis import async_pairs
from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, mode_of
from hloverlap.passes.mlir.meshes import AxisPart, Group, Meshes
from hloverlap.passes.mlir.modules import DeviceCounts

GROUPS = "replica_groups"
GLOBAL = "use_global_device_ids"
# Their ids are those of partitions where they have a channel; those of the others are still those of replicas then.
_BY_PARTITION = frozenset({"stablehlo.all_to_all", "stablehlo.collective_broadcast"})


class _Key(NamedTuple):
    """Holds all that the groups of an op depend on."""

    kind: str
    groups: ir.Attribute | None
    is_global: bool
    mode: str
    counts: DeviceCounts


class ReplicaGroups:
    """Reads the groups of a module's collectives, of each spelling once."""

    def __init__(self, module: ir.Operation) -> None:
        self._meshes = Meshes(module)
        self._known: dict[_Key, tuple[Group, ...]] = {}

    def listed(self, op: ir.Operation) -> tuple[Group, ...]:
        """Lists the ids of each group as the op names them; none where it is between all. Not for a permute.

        Raises MeshError for a mesh or an axis that is not there.
        """
        if op.name not in KINDS:
            return async_pairs.groups(op)
        attribute = op.attributes[GROUPS]
        if stablehlo.ReplicaGroupMeshAxesAttr.isinstance(attribute):
            spelled = stablehlo.ReplicaGroupMeshAxesAttr(attribute)
            return tuple(self._meshes.of(spelled.mesh).in_order.groups(map(AxisPart.of, spelled.axes)))
        rows: Any = memoryview(attribute).tolist()  # type: ignore[arg-type]
        groups = (tuple(number for number in row if number >= 0) for row in rows)  # -1 fills up what is shorter
        return tuple(group for group in groups if group)

    def of(self, op: ir.Operation, counts: DeviceCounts) -> tuple[Group, ...]:
        """Lists the devices of each group by their number: replica * partitions + partition; in the group's order.

        A device in no group takes no part. A permute is between all partitions of each replica (or all replicas of
        each partition): XLA:CPU has them all meet, also those that its pairs do not name (seen with jaxlib 0.10.2 and
        0.12.0), and XLA:GPU makes one communicator for them all. Raises MeshError.
        """
        if op.name not in KINDS:
            kind, is_global = f"stablehlo.{async_pairs.started_kind(op)}", async_pairs.is_global(op)
            key = _Key(kind, None, is_global, mode_of(op), counts)
            return tuple(_devices(key, async_pairs.groups(op)))
        spelled = None if op.name == PERMUTE else op.attributes[GROUPS]
        key = _Key(op.name, spelled, GLOBAL in op.attributes, mode_of(op), counts)
        if key not in self._known:
            listed = () if op.name == PERMUTE else self.listed(op)
            self._known[key] = tuple(_devices(key, listed))
        return self._known[key]


def _devices(key: _Key, listed: Sequence[Group]) -> list[Group]:
    """Puts ids in one of StableHLO's four modes, and of a permute, as devices."""
    replicas, partitions = range(key.counts.replicas or 1), range(key.counts.partitions or 1)
    width = len(partitions)
    if key.is_global:
        return list(listed) or [tuple(range(len(replicas) * width))]
    if key.mode == "partition" and key.kind in _BY_PARTITION | {PERMUTE}:
        groups = listed or [tuple(partitions)]
        return [tuple(replica * width + number for number in group) for group in groups for replica in replicas]
    groups = listed or [tuple(replicas)]
    if key.mode == "partition":
        return [tuple(number * width + each for each in partitions for number in group) for group in groups]
    return [tuple(number * width + each for number in group) for group in groups for each in partitions]
