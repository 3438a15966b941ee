"""Finds which matmuls XLA:GPU's dot merger makes one of."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import is_collective, is_group_call
from hloverlap.passes.analysis.segments import Segment
from hloverlap.passes.mlir.types import bytes_of, has_static_shape

DOT = "stablehlo.dot_general"

# XLA merges matmuls that share an operand if one of them has at most so many bytes of operands and result.
_THRESHOLD = 32 << 20


@dataclasses.dataclass(frozen=True)
class Dot:
    """A matmul, and when it can start."""

    op: ir.Operation
    level: int
    """How many collectives have to end, one after the other, before it can start."""


def merged_dots(block: ir.Block) -> Iterator[list[Dot]]:
    """Lists the sets of matmuls that XLA merges, as far as the module shows it, each by level."""
    *ops, following = (view.operation for view in block.operations)
    segment = Segment.of(ops, None, following)
    sharing = list(_sharing(segment.ops))
    collectives = {n for n, op in enumerate(segment.ops) if is_collective(op) or is_group_call(op)}
    levels = segment.levels(collectives)
    needed = _needed(segment, sharing)
    for bit, numbers in enumerate(sharing):
        # What needs another one of the set is not merged with that; with the rest it may be, but that is a guess.
        free = [n for n in numbers if not any(needed[need] >> bit & 1 for need in segment.needs[n])]
        if len(free) > 1 and any(_bytes(segment.ops[number]) <= _THRESHOLD for number in free):
            yield sorted((Dot(segment.ops[number], levels[number]) for number in free), key=lambda dot: dot.level)


def _sharing(ops: Sequence[ir.Operation]) -> Iterator[list[int]]:
    """Indices of matmuls that have an operand in common, on the same side, and contract and batch it alike."""
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
