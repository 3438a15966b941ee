"""Finds what other collectives of a module lose where XLA:GPU's overlap limit is raised for some.

The limit is for the whole module. Above 1, XLA's scheduler starts further collectives before the compute that hid the
first one; where that is all the compute there is, the others have nothing left to hide them, and all that carry no
annotation share one stream. What was seen, compiled for four H200s with jaxlib 0.10.2 and 0.12.0, at limit 1 and at
limit 2 with two opposite permutes on streams of their own beside C chains of D layers (all-to-all, matmul, tanh,
all-to-all; tests/py/passes/analysis/test_overlap_limit.py compiles the first and the last):

- a weight for each matmul, C x D = 2x2, 2x3, 3x2, 4x2, 4x3: of the all-to-alls as many as before have nothing to hide
  them, or fewer (4 of 8, 6 of 12, 5 of 12, 8 of 16, 12 of 24), and one permute more is hidden;
- no matmuls, but tanh alone, 2x2, 3x4, 4x4: fewer than before;
- a weight for each layer, so that XLA's dot merger makes one matmul of the C chains': 2x2 from 5 to 6 of 8, 4x2 from 9
  to 10 of 16, 4x3 from 14 to 16 of 24, and 3x2 and 3x3 as before. On 0.12 those that are not hidden are synchronous.
  With the dot merger off these are like the first.

So what can lose is a collective that a merged matmul waits for together with others.
"""

from __future__ import annotations

from collections.abc import Collection

from jaxlib.mlir import ir

from hloverlap.passes.analysis.async_pairs import CUSTOM_CALL, target_of
from hloverlap.passes.analysis.collectives import is_collective
from hloverlap.passes.analysis.merged_dots import DOT, merged_dots
from hloverlap.passes.analysis.segments import Segment
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import blocks_with, ops_in

_RAGGED = "ragged_all_to_all"  # the target of the custom call that JAX writes


def can_lose(symbols: Symbols, gaining: Collection[ir.Operation]) -> list[ir.Operation]:
    """Lists the collectives, but for those in `gaining`, that a higher limit can leave with nothing to hide them."""
    return [
        op
        for function in symbols.functions.values()
        for block in blocks_with(function, DOT)
        for op in _sharing_a_matmul(block)
        if op not in gaining
    ]


def ragged(symbols: Symbols) -> ir.Operation | None:
    """Gives a ragged all-to-all of the module, None where there is none.

    With a raised limit, programs that have one did not give the same results in each run, says a report to XLA's
    authors; so it is not raised unasked.
    """
    for function in symbols.functions.values():
        for op in ops_in(function, CUSTOM_CALL):
            if target_of(op) == _RAGGED:
                return op
    return None


def _sharing_a_matmul(block: ir.Block) -> list[ir.Operation]:
    """Gives the collectives of a block that a merged matmul waits for, with no other one between, beside others."""
    bits: dict[ir.Operation, int] = {}  # of a matmul: its set
    for bit, dots in enumerate(merged_dots(block)):
        for dot in dots:
            bits[dot.op] = bits.get(dot.op, 0) | 1 << bit
    if not bits:
        return []
    *ops, following = (view.operation for view in block.operations)
    segment = Segment.of(ops, None, following)
    waiting = [0] * len(ops)  # for each op, the sets that wait for it
    for number in reversed(range(len(ops))):
        op = ops[number]
        handed = bits.get(op, 0) if op.name == DOT else 0 if is_collective(op) else waiting[number]
        for need in segment.needs[number]:
            waiting[need] |= handed
    collectives = [number for number, op in enumerate(ops) if is_collective(op) and waiting[number]]
    once = twice = 0
    for number in collectives:
        once, twice = once | waiting[number], twice | once & waiting[number]
    return [ops[number] for number in collectives if waiting[number] & twice]
