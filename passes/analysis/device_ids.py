"""Finds where a program may ask which device it runs on."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir

from hloverlap.passes.analysis.mesh_axes import MeshAxes
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.symbols import Symbols


class DeviceIds:
    """Answers where ``partition_id`` and ``replica_id`` mean what the ids of a permute's pairs mean.

    XLA refuses a ``partition_id`` in what it has still to partition, so it may only stand in a manual computation over
    all axes of the mesh, or in a function that is called from nowhere else. A ``replica_id`` may stand anywhere.
    """

    def __init__(self, module: ir.Operation, symbols: Symbols) -> None:
        self._counts = device_counts(module)
        self._axes = MeshAxes(module, symbols)

    def count(self, mode: str) -> int | None:
        """Counts the ids there are in a mode of a permute; None where the module does not say."""
        return self._counts.ids(mode)

    def objection(self, op: ir.Operation, mode: str, pairs: Iterable[Pair]) -> str:
        """Says, as a clause, why nothing at `op` can be made to depend on the device's id; "" if it can."""
        count = self.count(mode)
        if count is None:
            return f"the module does not give the number of {mode}s"
        if any(not 0 <= number < count for pair in pairs for number in pair):
            return f"its pairs name more than the {count} {mode}s that there are"
        if mode == "partition" and not self._axes.are_manual(op):
            return "a device cannot ask for its partition id outside of a computation that is manual over all axes"
        return ""
