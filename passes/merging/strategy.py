"""Defines what every way of making one transfer of several permutes has to answer."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Sequence
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.analysis.cost import CostModel, UnknownCostError
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.mlir.symbols import Symbols

# What is merged is estimated to take at most this much of its time apart; the estimates are no better than that.
WORTH = 0.85


def doubt(merged: float, separate: float) -> str:
    """Says after two estimates why the better one is not taken, "" where it is the better one that is."""
    return f", and a gain of less than {1 - WORTH:.0%} is not trusted" if WORTH * separate < merged < separate else ""


class Strategy(abc.ABC):
    """One way to merge, in one module."""

    result: ClassVar[str]
    """What the merged transfer is, as a remark says it."""

    alike: ClassVar[str]
    """What permutes must have in common, as a remark says it: "no other one …"."""

    statistic: ClassVar[str]
    """Of the pass, that counts such transfers."""

    def __init__(self, context: Context, symbols: Symbols) -> None:
        self.context = context
        self.symbols = symbols
        self.costs = CostModel(context.target, context.topology)

    @abc.abstractmethod
    def refusal(self, permute: Collective) -> Declined | None:
        """Says why a permute can be in no such transfer; None if it can."""

    @abc.abstractmethod
    def key(self, permute: Collective) -> Hashable:
        """Gives what the permutes of one transfer must have in common."""

    @abc.abstractmethod
    def drawback(self, permutes: Sequence[Collective]) -> Declined | None:
        """Says why these are better not merged, whatever the estimate; None for no reason."""

    @abc.abstractmethod
    def merged_time(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of the one transfer. Raises UnknownCostError."""

    @abc.abstractmethod
    def emit(self, ops: Sequence[ir.Operation]) -> Collective | None:
        """Puts one transfer in the place of independent ops that stand side by side.

        Gives it if it is a permute, which may be merged with others in its turn.
        """

    def estimate(self, permutes: Sequence[Collective]) -> tuple[float, float]:
        """Estimates the microseconds of one transfer, and of the permutes by themselves. Raises UnknownCostError."""
        return self.merged_time(permutes), self.costs.separate(permutes)

    def objection(self, permutes: Sequence[Collective]) -> Declined | None:
        """Says why merging these does not pay, as far as the cost model and measurements can say; None if it does."""
        if drawback := self.drawback(permutes):
            return drawback
        try:
            merged, separate = self.estimate(permutes)
        except UnknownCostError as error:
            return Declined("MCT017", str(error))
        if merged > WORTH * separate:
            now = "as XLA joins them" if self.costs.joins_equal_pairs else "apart"
            text = f"{self.result} would take about {merged:.0f} us on {self.costs.name}, {now} {separate:.0f} us"
            return Declined("MCT011", text + doubt(merged, separate))
        return None

    def leaves(self, permutes: Sequence[Collective]) -> bool:
        """Says whether any of these is known to leave its host, or, on XLA:CPU, its process."""
        return any(self.context.leaves(pair) for permute in permutes for pair in permute.pairs)
