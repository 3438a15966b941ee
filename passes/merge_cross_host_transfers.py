"""Makes one transfer of independent permutes that cross hosts, or, on XLA:CPU, processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar, Literal

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.mesh_axes import MeshAxes
from hloverlap.passes.analysis.permutes import grouped_functions
from hloverlap.passes.base import Pass, option
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.errors import PassError
from hloverlap.passes.merging.group import Group
from hloverlap.passes.merging.merger import Merger
from hloverlap.passes.merging.pack import Pack
from hloverlap.passes.merging.strategy import Strategy
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import has_static_shape
from hloverlap.passes.mlir.walk import ops_in


@dataclasses.dataclass(frozen=True)
class MergeCrossHostTransfers(Pass):
    """Merges in two ways: `group` is one launch of several permutes, which XLA:GPU knows; `concat` packs their data.

    `auto` packs small permutes with the same pairs, groups what is ready together, packed or not, and leaves the rest
    alone: large ones, and those with the same pairs, which XLA:GPU joins by itself. It asks what transfers cost on the
    target, and merges nothing where that is not known.
    """

    name = "merge-cross-host-transfers"
    summary = "Makes one transfer of independent permutes that cross hosts."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[0, 4], [4, 0]] …}> : (tensor<8xf32>) -> tensor<8xf32>
        %b = "stablehlo.collective_permute"(%y) <{… [[1, 5], [5, 1]] …}> : (tensor<4xbf16>) -> tensor<4xbf16>
after:  %0:2 = call @collectives_group(%x, %y) {mhlo.frontend_attributes =
            {_collectives_group = "", inlineable = "false"}}"""
    statistics: ClassVar[dict[str, str]] = {
        "num-groups": "groups made",
        "num-packed": "packed permutes made",
        "num-merged": "permutes that are now part of another transfer",
        "num-declined": "permutes that cross hosts and were left as they are",
    }
    remarks: ClassVar[dict[str, str]] = {
        "MCT000": "merged nothing: without a topology no permute is known to cross hosts",
        "MCT001": "merged it with others into one transfer",
        "MCT002": "not merged: it carries a stream annotation of the user's",
        "MCT003": "not merged: its size is not known when compiling",
        "MCT004": "not merged: no other one stands beside it that it could be merged with",
        "MCT005": "not merged: none that it could be merged with is ready with it, or each waits for the other",
        "MCT006": "not merged: it would make a cycle with what was merged before",
        "MCT007": "not merged: elements of its type cannot be packed bit for bit",
        "MCT008": "not merged: the transfer would be larger than max-bytes",
        "MCT009": "not merged: XLA joins those with the same pairs by itself",
        "MCT010": "not merged: a group is no single launch here, or nothing runs beside it",
        "MCT011": "not merged: the estimate says that it would take longer, or gain too little to be sure",
        "MCT012": "not merged: its block has too many kinds of permutes",
        "MCT013": "not merged: in a group, a device that receives nothing would not get zeros",
        "MCT014": "not merged: inside a host, packing several types takes longer than it saves",
        "MCT015": "made a group that this version of XLA will take apart again",
        "MCT016": "not merged: packed flat it could not stay divided along the other axes of its mesh",
        "MCT017": "not merged: what it would take is not known of the target, or no target was given",
    }

    strategy: Literal["group", "concat", "auto"] = option("auto", "how to merge")
    scope: Literal["cross-host", "all", "auto"] = option(
        "auto", "which permutes to merge; auto: those that cross hosts, and others where the target is known to gain"
    )
    max_bytes: int = option(256 * 1024 * 1024, "most bytes a device sends in one merged transfer")
    min_count: int = option(2, "fewest permutes worth merging")

    def run(self, op: ir.Operation, context: Context) -> None:
        """Merges the independent permutes of each block, and says of the others why they are left."""
        if self.min_count < 2:
            raise PassError(f"min-count={self.min_count} merges nothing with itself; give at least 2")
        if self.max_bytes < 1:
            raise PassError(f"max-bytes={self.max_bytes} lets nothing through; give at least 1")
        symbols = Symbols(op)
        permutes = {name: ops_in(function, PERMUTE) for name, function in symbols.functions.items()}
        if self.scope != "all" and context.topology is None and sum(map(len, permutes.values())) > 1:
            context.remark(
                "MCT000",
                f"No transfer was merged: without a topology no permute is known to cross {context.joined}; give one, "
                "such as 2x4.",
            )
            return
        grouped = grouped_functions(symbols)
        candidates: dict[ir.Block, list[Collective]] = {}
        for name, found in permutes.items():
            for permute in map(Collective.of, found if name not in grouped else ()):
                if self._is_candidate(permute, context):
                    candidates.setdefault(permute.op.block, []).append(permute)
        merger = self._merger(op, symbols, context)
        for block, members in candidates.items():
            merger.merge(block, members)

    def _merger(self, module: ir.Operation, symbols: Symbols, context: Context) -> Merger:
        pack = Pack(context, symbols, MeshAxes(module, symbols))
        group = Group(context, symbols, device_counts(module))
        strategies: dict[str, Sequence[Strategy]] = {"concat": [pack], "group": [group], "auto": [pack, group]}
        return Merger(
            strategies[self.strategy],
            Effects(symbols),
            self.max_bytes,
            self.min_count,
            lambda permute, declined: self._decline(permute, declined, context),
            lambda strategy, permutes: self._tell(strategy, permutes, context),
        )

    def _is_candidate(self, permute: Collective, context: Context) -> bool:
        """Says whether a permute is one to merge; the user is told of one that would be, but for what it is."""
        leaves = any(map(context.leaves, permute.pairs))
        auto = self.strategy == self.scope == "auto"
        gains_inside = auto and context.target is not None and context.target.costs.peer is not None
        if self.scope != "all" and not leaves and not gains_inside:
            return False
        if permute.stream is not None and not stream_annotations.is_own(permute.op):
            text = f"it carries the user's stream annotation '{permute.stream}'"
            self._decline(permute, Declined("MCT002", text), context)
            return False
        if not has_static_shape(permute.op.operands[0].type):
            self._decline(permute, Declined("MCT003", "its size is not known when compiling"), context)
            return False
        return True

    def _decline(self, permute: Collective, declined: Declined, context: Context) -> None:
        context.remark(declined.code, f"Not merged: {declined.reason}.", permute.op)
        self.count(context, "num-declined")

    def _tell(self, strategy: Strategy, permutes: list[Collective], context: Context) -> None:
        """Says of each permute that it becomes part of one transfer, and counts it."""
        size = sum(permute.bytes for permute in permutes)
        others = f"{len(permutes) - 1} other" + "s" * (len(permutes) > 2)
        gain = ""
        if self.strategy == "auto":
            merged, separate = strategy.estimate(permutes)
            gain = f", about {merged:.0f} us on {strategy.costs.name} instead of {separate:.0f} us"
        for permute in permutes:
            text = f"Merged with {others} into {strategy.result} of {size} bytes{gain}."
            context.remark("MCT001", text, permute.op)
        self.count(context, strategy.statistic)
        self.count(context, "num-merged", len(permutes))
