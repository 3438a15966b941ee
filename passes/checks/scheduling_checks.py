"""Finds scheduling groups that XLA finds in pieces (VCL017).

XLA inlines calls, so ops of one ``_scheduling_group_id`` in a function that is called twice are one group. It refuses a
group with a gap: an op of the group that depends on another one through ops that are not of the group (seen with
jaxlib 0.10.2 and 0.12.0). Calls that do not depend on each other are fine, and so are those of which one is in a loop
or a branch, where XLA inlines nothing into the computation around it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from hloverlap.passes.checks.fault import Fault
from hloverlap.passes.context import Context
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import SCHEDULING_GROUP
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import FreeValues, blocks_with, ops_in


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at the calls of functions in which ops are in a scheduling group."""
    for fault in find(symbols):
        fault.tell(context)


def find(symbols: Symbols) -> list[Fault]:
    """Gives what is wrong, one for each group and second call, in the order of the text."""
    if not (groups := _groups(symbols)):
        return []
    blocks = (block for function in symbols.functions.values() for block in blocks_with(function, *CALLS))
    free = FreeValues()
    return [fault for block in blocks for fault in _in_block(block, groups, symbols, free)]


def _groups(symbols: Symbols) -> dict[str, set[tuple[str, str]]]:
    """Gives for each function the groups in it and in what it calls: the function with the ops, and the group's id."""
    held: dict[str, set[tuple[str, str]]] = {}
    callers: dict[str, list[str]] = {}
    for name, function in symbols.functions.items():
        for op in ops_in(function):
            if (group := frontend_attributes.read(op).get(SCHEDULING_GROUP)) is not None:
                held.setdefault(name, set()).add((name, group))
            if (callee := symbols.callee(op)) is not None:
                callers.setdefault(callee, []).append(name)
    waiting = list(held)
    while waiting:
        name = waiting.pop()
        for caller in callers.get(name, ()):
            if not held[name] <= held.setdefault(caller, set()):
                held[caller] |= held[name]
                waiting.append(caller)
    return held


def _in_block(
    block: ir.Block, groups: dict[str, set[tuple[str, str]]], symbols: Symbols, free: FreeValues
) -> Iterator[Fault]:
    """Compares each call in a block with the calls before it that its operands come from."""
    calls: list[ir.Operation] = []
    behind: dict[ir.Value, int] = {}  # bit n: the value comes from the n-th of the calls
    for op in (view.operation for view in block.operations):
        sources = 0
        for value in (*op.operands, *free.of(op)):
            sources |= behind.get(value, 0)
        held = groups.get(symbols.callee(op) or "", set())
        for function, group in sorted(held):
            earlier = [call for number, call in enumerate(calls) if sources >> number & 1]
            first = next((call for call in earlier if (function, group) in groups[str(symbols.callee(call))]), None)
            if first is not None:
                yield _fault(function, group, first, op)
        if held:
            sources |= 1 << len(calls)
            calls.append(op)
        if sources:
            behind.update((result, sources) for result in op.results)


def _fault(function: str, group: str, first: ir.Operation, second: ir.Operation) -> Fault:
    text = (
        f"It runs '{function}', in which ops are in the scheduling group '{group}', on what comes from "
        f"{describe(first, second)}, which runs it too: XLA inlines both, finds other ops between the two parts "
        "of the group, and refuses the module. Let each call run a copy of the function with a group of its own."
    )
    return Fault("VCL017", "error", text, second, (first,))
