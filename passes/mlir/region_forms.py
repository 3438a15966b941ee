"""Says whether the regions of two ops say the same."""

from __future__ import annotations

from collections.abc import Hashable

from jaxlib.mlir import ir

from hloverlap.passes.mlir import frontend_attributes


def region_form(op: ir.Operation) -> Hashable:
    """Gives what is equal for ops whose regions compute the same, whatever their values are called and where they lie.

    Values of a region go by their number in it, others are themselves.
    """
    return _form(op, {})


def _form(op: ir.Operation, numbers: dict[ir.Value, int]) -> Hashable:
    blocks = []
    for region in op.regions:
        for block in region.blocks:
            numbers.update((argument, len(numbers)) for argument in block.arguments)
            held = []
            for view in block.operations:
                inner = view.operation
                taken = tuple(numbers.get(operand, operand) for operand in inner.operands)
                types = tuple(str(result.type) for result in inner.results)
                held.append((inner.name, taken, types, frontend_attributes.as_text(inner), _form(inner, numbers)))
                numbers.update((result, len(numbers)) for result in inner.results)
            blocks.append((tuple(str(argument.type) for argument in block.arguments), tuple(held)))
    return tuple(blocks)
