"""Merges by grouping: one launch of several permutes, which XLA:GPU knows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis import groups
from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.building.grouping import group
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.merging.strategy import Strategy
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.passes.mlir.symbols import Symbols


class Group(Strategy):
    """Merges permutes into one group; the strategy ``group``."""

    result = "one group"
    alike = "is of the same mode"
    statistic = "num-groups"

    def __init__(self, context: Context, symbols: Symbols, devices: DeviceCounts) -> None:
        super().__init__(context, symbols)
        self._devices = devices

    def refusal(self, permute: Collective) -> Declined | None:
        """Refuses permutes in which not every device receives something: in a group, such a device gets no zeros."""
        if not groups.all_receive(permute, self._devices):
            text = "in a group, a device that receives nothing would not get the zeros that it is to have"
            return Declined("MCT013", text)
        return None

    def key(self, permute: Collective) -> Hashable:
        """Gives the mode; permutes of any pairs and types can be one group."""
        return permute.mode

    def drawback(self, permutes: Sequence[Collective]) -> Declined | None:
        """Says why streams or XLA's own joining serve better, or why a group would be none or hold compute up."""
        if not self.costs.has_groups:
            return Declined("MCT010", f"a group is no single launch on {self.costs.name}")
        if not self.context.capabilities.group_overlaps_compute:
            return Declined("MCT010", "this version of XLA lets no compute run beside a group")
        if self.costs.joins_equal_pairs and len({permute.canonical_pairs for permute in permutes}) == 1:
            return Declined("MCT009", f"XLA joins the {len(permutes)} with the same pairs by itself")
        if not self.leaves(permutes):
            return Declined("MCT010", "inside a host streams serve better than a group")
        return None

    def merged_time(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of one launch, without copies."""
        return self.costs.one_launch(permutes)

    def emit(self, ops: Sequence[ir.Operation]) -> Collective | None:
        """Moves the permutes into a function that is called as one group."""
        whole = self.context.capabilities.keeps_groups
        call = group(ops, self.symbols, whole)
        if not whole:
            text = "This version of XLA takes the group apart again: in a loop it would not compile it whole."
            self.context.remark("MCT015", text, call)
        return None
