"""Stream annotations that XLA does not survive, or does not take where they are (VCL001 to VCL004)."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import CALL, KINDS, is_group_call
from hloverlap.passes.context import Context
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import GROUP, STREAM
from hloverlap.passes.mlir.symbols import Symbols

# More streams than this at once are no plan: XLA:GPU itself reserves four.
_MOST_STREAMS = 64


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at every op that carries a stream annotation."""
    with_collectives: dict[str, bool] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        held = frontend_attributes.read(op)
        if STREAM in held:
            _value(op, held[STREAM], context)
            if GROUP in held:
                context.remark(
                    "VCL004",
                    "A stream annotation beside _collectives_group: XLA fails to compile it; take the annotation away.",
                    op,
                    "error",
                )
            elif op.name == CALL and (name := symbols.callee(op)) and _has_collective(name, symbols, with_collectives):
                context.remark(
                    "VCL003",
                    f"A stream annotation on a call of '{name}', which holds a collective: XLA finds no stream for the "
                    "collective and fails to compile; annotate the collective itself.",
                    op,
                    "error",
                )
        if is_group_call(op) and (name := symbols.callee(op)) in symbols.functions:
            _inside_group(symbols.functions[str(name)], context)
        return ir.WalkResult.ADVANCE

    module.walk(visit)


def _value(op: ir.Operation, value: str, context: Context) -> None:
    if op.name not in KINDS and value == "collective":
        return  # XLA's own word for compute that goes where collectives go
    if re.fullmatch(r"-\d+", value):
        stream = int(value) % 2**64
        text = f"The stream annotation '{value}' is negative: XLA takes it for stream {stream}."
        context.remark("VCL002", text, op, "warning")
    elif not re.fullmatch(r"\d+", value):
        text = f"The stream annotation '{value}' is no decimal number: XLA aborts the process."
        context.remark("VCL001", text, op, "error")
    elif int(value) >= _MOST_STREAMS:
        text = f"The stream annotation '{value}' names a stream that nobody needs: XLA makes it all the same."
        context.remark("VCL002", text, op, "warning")


def _inside_group(function: ir.Operation, context: Context) -> None:
    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in KINDS and STREAM in frontend_attributes.read(op):
            context.remark(
                "VCL004",
                "A stream annotation inside a group: the group runs on XLA's stream 0 as a whole; take it away.",
                op,
                "error",
            )
        return ir.WalkResult.ADVANCE

    function.walk(visit)


def _has_collective(name: str, symbols: Symbols, known: dict[str, bool]) -> bool:
    """Whether a function, or one that it calls, holds a collective."""
    if name not in known:
        known[name] = False  # what a recursive function would find
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            callee = symbols.callee(op)
            if op.name in KINDS or (callee is not None and _has_collective(callee, symbols, known)):
                found.append(op)
                return ir.WalkResult.INTERRUPT
            return ir.WalkResult.ADVANCE

        if name in symbols.functions:
            symbols.functions[name].walk(visit)
        known[name] = bool(found)
    return known[name]
