"""Conditionals and loops in which devices part ways and then wait for each other (VCL012)."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, PERMUTE
from hloverlap.passes.analysis.divergence import Divergence
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import LOOP, STEPS, ops_in, terminator

_MOST_STEPS = 10_000  # collectives of one branch, counted through calls


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at each conditional and loop with collectives in it."""
    sequences = _Sequences(symbols)
    steps = [op for op in ops_in(module, *STEPS) if sequences.of(op.regions)]
    if not steps:
        return
    divergence = Divergence(symbols)
    for op in steps:
        if op.name == LOOP:
            if divergence.differs(terminator(op.regions[0].blocks[0]).operands[0]):
                text = "A loop with collectives whose number of rounds can depend on the device: "
                _say(text, op, context)
        elif divergence.differs(op.operands[0]):
            branches = [sequences.of([region]) for region in op.regions]
            other = next((number for number, each in enumerate(branches) if each != branches[0]), None)
            if other is not None:
                text = f"Devices can take different branches, and 0 and {other} do not have the same collectives: "
                _say(text, op, context)


def _say(text: str, op: ir.Operation, context: Context) -> None:
    context.remark("VCL012", f"{text}those that come to one wait for ever for those that do not.", op, "warning")


class _Sequences:
    """The collectives of a region or function in order, also in what it calls: kind and devices of each."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._functions: dict[str, list[str]] = {}

    def of(self, regions: Iterable[ir.Region]) -> list[str]:
        found: list[str] = []
        for top in (view.operation for region in regions for block in region for view in block):
            for op in ops_in(top, *KINDS, *CALLS):
                callee = self._symbols.callee(op)
                found += [_describe(op)] if callee is None else self._of_function(callee)
                if len(found) >= _MOST_STEPS:
                    return found[:_MOST_STEPS]
        return found

    def _of_function(self, name: str) -> list[str]:
        if name not in self._functions:
            self._functions[name] = []  # what a recursive function would find
            if name in self._symbols.functions:
                self._functions[name] = self.of(self._symbols.functions[name].regions)
        return self._functions[name]


def _describe(op: ir.Operation) -> str:
    devices = "source_target_pairs" if op.name == PERMUTE else "replica_groups"
    return f"{op.name} {op.attributes[devices]}"
