"""Finds the permutes of a module that a rewrite may touch, and does the arithmetic of their pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hloverlap.passes.analysis.collectives import PERMUTE, is_group_call
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.segments import Segment, segments
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir.symbols import CALL, Symbols
from hloverlap.passes.mlir.walk import blocks_with, ops_in


def grouped_functions(symbols: Symbols) -> set[str]:
    """Lists the functions that XLA runs as one group of collectives: nothing else may get in, and nothing may leave."""
    calls = (call for function in symbols.functions.values() for call in ops_in(function, CALL))
    return {str(symbols.callee(call)) for call in calls if is_group_call(call)}


def segments_with_permutes(symbols: Symbols, at_least: int) -> Iterator[Segment]:
    """Gives the segments, outside of groups, with at least so many permutes; in module order."""
    effects = Effects(symbols)
    grouped = grouped_functions(symbols)
    for name, function in symbols.functions.items():
        if name not in grouped:
            for block in blocks_with(function, PERMUTE):
                yield from segments(block, effects, lambda op: op.name == PERMUTE, at_least)


def compose(inner: Iterable[Pair], outer: Iterable[Pair]) -> tuple[Pair, ...]:
    """Gives the pairs of one permute that does what `outer` does to the result of `inner`; ascending.

    A target of `outer` whose source got nothing from `inner` gets that source's zeros, so it is no target here.
    """
    source_of = {target: source for source, target in inner}
    return tuple(sorted((source_of[source], target) for source, target in outer if source in source_of))


def are_disjoint(some: Collection[Pair], others: Collection[Pair]) -> bool:
    """Says whether no source of one is a source of the other, and no target a target."""
    return all({pair[end] for pair in some}.isdisjoint(pair[end] for pair in others) for end in (0, 1))
