"""Conditionals and loops in which devices part ways and then wait for each other (VCL012)."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.analysis.divergence import Divergence
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.symbols import Symbols

_MOST_STEPS = 10_000  # collectives of one branch, counted through calls


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at each conditional and loop with collectives in it."""
    steps: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("stablehlo.case", "stablehlo.if", "stablehlo.while"):
            steps.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    steps = [op for op in steps if any(_sequence(region, symbols) for region in op.regions)]
    if not steps:
        return
    divergence = Divergence(symbols)
    for op in steps:
        if op.name == "stablehlo.while":
            condition = list(op.regions[0].blocks[0].operations)[-1].operation
            if divergence.differs(condition.operands[0]):
                text = "A loop with collectives whose number of rounds can depend on the device: "
                _say(text, op, context)
        elif divergence.differs(op.operands[0]):
            sequences = [_sequence(region, symbols) for region in op.regions]
            other = next((number for number, each in enumerate(sequences) if each != sequences[0]), None)
            if other is not None:
                text = f"Devices can take different branches, and 0 and {other} do not have the same collectives: "
                _say(text, op, context)


def _say(text: str, op: ir.Operation, context: Context) -> None:
    context.remark("VCL012", f"{text}those that come to one wait for ever for those that do not.", op, "warning")


def _sequence(region: ir.Region, symbols: Symbols) -> list[str]:
    """The collectives of a region in order, also in what it calls: kind and devices of each."""
    found: list[str] = []
    calls: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if len(found) >= _MOST_STEPS:
            return ir.WalkResult.INTERRUPT
        if op.name in KINDS:
            pairs = "source_target_pairs" in op.attributes
            devices = op.attributes["source_target_pairs" if pairs else "replica_groups"]
            found.append(f"{op.name} {devices}")
        callee = symbols.callee(op)
        if callee in symbols.functions and callee is not None and callee not in calls:
            calls.append(callee)
            symbols.functions[callee].walk(visit)
            calls.pop()
        return ir.WalkResult.ADVANCE

    for block in region:
        for view in block:
            view.operation.walk(visit)
    return found
