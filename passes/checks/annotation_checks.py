"""Stream annotations that XLA does not survive, or does not take where they are (VCL001 to VCL004)."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, is_group_call
from hloverlap.passes.context import Context
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import GROUP, STREAM
from hloverlap.passes.mlir.symbols import CALL, Symbols
from hloverlap.passes.mlir.walk import ops_in

# More streams than this at once are no plan: XLA:GPU itself reserves four.
_MOST_STREAMS = 64


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at every op that carries a stream annotation."""
    with_collectives = symbols.holding(*KINDS)
    for op in ops_in(module):
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
            elif op.name == CALL and (name := symbols.callee(op)) in with_collectives:
                context.remark(
                    "VCL003",
                    f"A stream annotation on a call of '{name}', which holds a collective: XLA finds no stream for the "
                    "collective and fails to compile; annotate the collective itself.",
                    op,
                    "error",
                )
        if is_group_call(op) and (name := symbols.callee(op)) in symbols.functions:
            _inside_group(symbols.functions[str(name)], context)


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
    for op in ops_in(function, *KINDS):
        if STREAM in frontend_attributes.read(op):
            context.remark(
                "VCL004",
                "A stream annotation inside a group: the group runs on XLA's stream 0 as a whole; take it away.",
                op,
                "error",
            )
