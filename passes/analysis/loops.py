"""Counts how often an op runs."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.dataflow import Instance
from hloverlap.passes.mlir.walk import FUNCTION, LOOP, definition, terminator

_UNKNOWN = 16  # turns of a loop that does not say: enough for what is paid once a run to count little


def executions(op: ir.Operation, instance: Instance) -> int:
    """Counts the runs of an op for each run of the module, on this execution path: the turns of the loops around it."""
    times = 1
    inner: ir.Operation | None = op
    path: Instance | None = instance
    while inner is not None and path is not None:
        outer = inner.parent
        if outer is None or outer.name == FUNCTION:
            inner, path = path.op, path.parent
            continue
        if outer.name == LOOP:
            turns = trip_count(outer)
            times *= _UNKNOWN if turns is None else turns
        inner = outer
    return times


def trip_count(loop: ir.Operation) -> int | None:
    """Counts the turns of a ``stablehlo.while`` that counts from one constant to another, as JAX writes it, else None.

    The end and the step may be carried by the loop, as long as it hands them on as they are.
    """
    condition, body = (region.blocks[0] for region in loop.regions)
    test = definition(terminator(condition).operands[0])
    if test is None or test.name != "stablehlo.compare" or "LT" not in str(test.attributes["comparison_direction"]):
        return None
    number = _argument_number(test.operands[0], condition)
    end = _constant(test.operands[1], loop)
    if number is None or end is None:
        return None
    step = definition(terminator(body).operands[number])
    if step is None or step.name != "stablehlo.add" or _argument_number(step.operands[0], body) != number:
        return None
    start, by = _constant(loop.operands[number]), _constant(step.operands[1], loop)
    if start is None or by is None or by < 1:
        return None
    return max(0, -(-(end - start) // by))


def _argument_number(value: ir.Value, block: ir.Block) -> int | None:
    if not isinstance(value.owner, ir.Block) or value.owner != block:
        return None
    return ir.BlockArgument(value).arg_number


def _constant(value: ir.Value, loop: ir.Operation | None = None) -> int | None:
    """Gives the integer that a value is in each turn, as far as the text says it."""
    if loop is not None and isinstance(value.owner, ir.Block) and value.owner.owner.operation == loop:
        body, number = loop.regions[1].blocks[0], ir.BlockArgument(value).arg_number
        is_kept = _argument_number(terminator(body).operands[number], body) == number
        return _constant(loop.operands[number]) if is_kept else None
    maker = definition(value)
    if maker is None or maker.name != "stablehlo.constant":
        return None
    elements = ir.DenseElementsAttr(maker.attributes["value"])
    if not elements.is_splat or not isinstance(elements.type.element_type, ir.IntegerType):
        return None
    return int(ir.IntegerAttr(elements.get_splat_value()).value)
