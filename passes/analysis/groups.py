"""Tells what XLA:GPU makes of calls that carry ``_collectives_group``, and of permutes in them."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import Collective, is_group_call
from hloverlap.passes.analysis.xla_streams import stays_whole
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.passes.mlir.symbols import CALL, Symbols
from hloverlap.passes.mlir.walk import LOOP, ops_in


def is_group(call: ir.Operation) -> bool:
    """Says whether XLA runs a call as one launch of the collectives inside; without ``inlineable`` it inlines it."""
    return is_group_call(call) and stays_whole(call)


def members_of_groups(symbols: Symbols) -> set[str]:
    """Gives the names of functions that XLA runs as one launch."""
    calls = (call for function in symbols.functions.values() for call in ops_in(function, CALL))
    return {str(symbols.callee(call)) for call in calls if is_group(call)}


def all_receive(fact: Collective, counts: DeviceCounts) -> bool:
    """Says whether every device is known to receive something from a permute.

    In a group, a device that does not is left with what was in its memory, where a permute by itself gives it zeros.
    (Seen on two H200s with jaxlib 0.11.2.)
    """
    return counts.ids(fact.mode) == len({target for _, target in fact.pairs})


def run_in_loops(symbols: Symbols) -> set[str]:
    """Gives the names of functions that are called from within a loop, or from a function that is."""
    reached: set[str] = set()
    pending: list[ir.Operation] = [loop for function in symbols.functions.values() for loop in ops_in(function, LOOP)]
    while pending:
        for op in ops_in(pending.pop()):
            name = symbols.callee(op)
            if name in symbols.functions and name not in reached:
                reached.add(str(name))
                pending.append(symbols.functions[str(name)])
    return reached
