"""Keeps XLA from merging matmuls where the merged one would wait for a transfer that one of them could hide."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis.merged_dots import DOT, merged_dots
from hloverlap.passes.analysis.permutes import grouped_functions
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.machine import xla_options
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import blocks_with


@dataclasses.dataclass(frozen=True)
class KeepDotsApart(Pass):
    """XLA:GPU makes one matmul of those that share an operand and do not need each other.

    In a ring that is unrolled, the blocks of all steps meet the same weight: the one matmul that XLA makes of them
    starts when the last block is there, and nothing is left to compute while blocks travel. There the pass asks XLA
    for its dot merger to be off; the module stays as it is. It is one option for the whole module, so the pass does
    not ask where other matmuls, which are ready together, would be kept apart by it.

    No part of `overlap`: other kernels add in another order, so last bits can differ, and on two H200s, where a ring
    has but one step to hide, small matmuls lost 20 % by being apart (docs/measurements.md).
    """

    name = "keep-dots-apart"
    summary = "Asks XLA not to merge matmuls of which one could hide the transfer that another waits for."
    example = """\
before: %x1 = "stablehlo.collective_permute"(%x0) …
        %y0 = stablehlo.dot_general %x0, %w …
        %y1 = stablehlo.dot_general %x1, %w …
after:  the same, and --xla_gpu_dot_merger_threshold_mb=0"""
    statistics: ClassVar[dict[str, str]] = {"num-kept-apart": "matmuls that XLA would have merged with a later one"}
    remarks: ClassVar[dict[str, str]] = {
        "KDA001": "kept it from being merged with a later matmul",
        "KDA002": "left it to be merged with later ones, since other matmuls gain by that",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Asks for XLA's dot merger to be off where merged matmuls would wait for a transfer."""
        symbols = Symbols(op)
        grouped = grouped_functions(symbols)
        merged = [
            dots
            for name, function in symbols.functions.items()
            if name not in grouped
            for block in blocks_with(function, DOT)
            for dots in merged_dots(block)
        ]
        late = [dots for dots in merged if dots[0].level < dots[-1].level]
        if not late:
            return
        together = next((dots for dots in merged if dots[0].level == dots[-1].level), None)
        if together is not None:
            for dots in late:
                gains = describe(together[0].op, dots[0].op)
                why = f"Left to be merged with later ones: {gains} gains by being merged with others."
                context.remark("KDA002", why, dots[0].op)
            return
        context.need_option(xla_options.DOT_MERGER, 0)
        for dots in late:
            self.count(context, "num-kept-apart", sum(dot.level < dots[-1].level for dot in dots))
            waiting = describe(dots[-1].op, dots[0].op)
            text = f"Kept from being merged with {waiting}, which waits for a transfer that it can hide."
            context.remark("KDA001", text, dots[0].op)
