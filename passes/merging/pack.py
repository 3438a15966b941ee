"""Merges by packing: one permute of several permutes' data, which must go the same way."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.analysis.mesh_axes import MeshAxes
from hloverlap.passes.building.concatenation import concatenate
from hloverlap.passes.building.packing import can_pack
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.merging.strategy import Strategy
from hloverlap.passes.mlir.symbols import Symbols


class Pack(Strategy):
    """Merges permutes into one of packed data; the strategy ``concat``."""

    result = "one packed permute"
    alike = "has the same pairs and attributes"
    statistic = "num-packed"

    def __init__(self, context: Context, symbols: Symbols, axes: MeshAxes) -> None:
        super().__init__(context, symbols)
        self._axes = axes

    def refusal(self, permute: Collective) -> Declined | None:
        """Refuses what cannot be packed bit for bit, or would have to be gathered from the mesh axes that divide it."""
        if not can_pack(permute.op.operands[0].type):
            return Declined("MCT007", f"elements of type {permute.dtypes[0]} cannot be packed bit for bit")
        if axes := self._axes.free(permute.op):
            names = " and ".join(axes)
            return Declined("MCT016", f"packed flat it could not stay divided along mesh axis {names}")
        return None

    def key(self, permute: Collective) -> Hashable:
        """Gives the mode, the pairs and all that a permute carries besides."""
        return permute.mode, permute.canonical_pairs, stream_annotations.carried(permute.op)

    def drawback(self, permutes: Sequence[Collective]) -> Declined | None:
        """Objects to packing several types inside a host, which takes longer than the launches that it saves."""
        if len({permute.dtypes for permute in permutes}) > 1 and not self.leaves(permutes):
            text = f"inside {self.context.joined}, packing several types takes longer than the launches that it saves"
            return Declined("MCT014", text)
        return None

    def merged_time(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of one permute with the copies before and after it."""
        return self.costs.packed(permutes)

    def emit(self, ops: Sequence[ir.Operation]) -> Collective | None:
        """Puts one permute of the packed operands in their place, and gives it."""
        target = self.context.target
        return Collective.of(concatenate(ops, self.symbols, target.costs.sequential_ops if target is not None else 0))
