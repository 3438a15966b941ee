"""Keeps XLA from merging matmuls where the merged one would wait for a transfer that one of them could hide."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, is_group_call
from hloverlap.passes.analysis.permutes import grouped_functions
from hloverlap.passes.analysis.segments import Segment
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.machine import xla_options
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import bytes_of, has_static_shape
from hloverlap.passes.mlir.walk import blocks_with

DOT = "stablehlo.dot_general"

# XLA merges matmuls that share an operand if one of them has at most so many bytes of operands and result.
_THRESHOLD = 32 << 20


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
            for dots in _merged(block)
        ]
        late = [dots for dots in merged if dots[0].level < dots[-1].level]
        if not late:
            return
        together = next((dots for dots in merged if dots[0].level == dots[-1].level), None)
        if together is not None:
            why = f"Left to be merged with later ones: {describe(together[0].op)} gains by being merged with others."
            for dots in late:
                context.remark("KDA002", why, dots[0].op)
            return
        context.need_option(xla_options.DOT_MERGER, 0)
        for dots in late:
            self.count(context, "num-kept-apart", sum(dot.level < dots[-1].level for dot in dots))
            text = f"Kept from being merged with {describe(dots[-1].op)}, which waits for a transfer that it can hide."
            context.remark("KDA001", text, dots[0].op)


@dataclasses.dataclass(frozen=True)
class _Dot:
    """A matmul, and when it can start."""

    op: ir.Operation
    level: int
    """How many collectives have to end, one after the other, before it can start."""


def _merged(block: ir.Block) -> Iterator[list[_Dot]]:
    """Lists the sets of matmuls that XLA merges, as far as the module shows it, each by level."""
    *ops, following = (view.operation for view in block.operations)
    segment = Segment.of(ops, None, following)
    sharing = list(_sharing(segment.ops))
    collectives = {n for n, op in enumerate(segment.ops) if op.name in KINDS or is_group_call(op)}
    levels = segment.levels(collectives)
    needed = _needed(segment, sharing)
    for bit, numbers in enumerate(sharing):
        # What needs another one of the set is not merged with that; with the rest it may be, but that is a guess.
        free = [n for n in numbers if not any(needed[need] >> bit & 1 for need in segment.needs[n])]
        if len(free) > 1 and any(_bytes(segment.ops[number]) <= _THRESHOLD for number in free):
            yield sorted((_Dot(segment.ops[number], levels[number]) for number in free), key=lambda dot: dot.level)


def _sharing(ops: Sequence[ir.Operation]) -> Iterator[list[int]]:
    """Lists the indices of matmuls with an operand in common, on the same side, that contract and batch it alike."""
    found: dict[tuple[int, ir.Value, str], list[int]] = {}
    for number, op in enumerate(ops):
        if op.name == DOT and all(has_static_shape(value.type) for value in (*op.operands, *op.results)):
            for side in (0, 1):
                key = side, op.operands[side], str(op.attributes["dot_dimension_numbers"])
                found.setdefault(key, []).append(number)
    return (numbers for numbers in found.values() if len(numbers) > 1)


def _needed(segment: Segment, sharing: Sequence[Sequence[int]]) -> list[int]:
    """Gives for each op a bit for each set of which a member is on a way that leads to it, or is itself."""
    own: dict[int, int] = {}
    for bit, number in itertools.chain.from_iterable(
        ((bit, number) for number in numbers) for bit, numbers in enumerate(sharing)
    ):
        own[number] = own.get(number, 0) | 1 << bit
    needed: list[int] = []
    for number, needs in enumerate(segment.needs):
        bits = own.get(number, 0)
        for need in needs:
            bits |= needed[need]
        needed.append(bits)
    return needed


def _bytes(op: ir.Operation) -> int:
    return sum(bytes_of(value.type) for value in (*op.operands, *op.results))
