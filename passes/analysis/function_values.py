"""Finds which ops of a function depend on which of its values, also through regions of loops and conditionals."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis.device_values import Values, device_values
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.passes.mlir.walk import INLINED_REGIONS, LOOP, STEPS, TERMINATORS, FreeValues, terminator


@dataclasses.dataclass(frozen=True)
class FunctionValues:
    """Holds what does not depend on where a function is called from."""

    arguments: Sequence[ir.Value]
    ops: Sequence[ir.Operation]
    """All but terminators and what is inside of ops that are looked at as a whole."""
    inputs: Sequence[Sequence[ir.Value]]
    """Of each op: its operands, and what its regions use from outside if they are not followed."""
    users: dict[ir.Value, list[int]]
    """The numbers of the ops whose results depend on a value: the op around a terminator counts for it."""
    results: Sequence[ir.Value]
    values: dict[ir.Value, Values]
    """What can be computed."""

    @classmethod
    def of(cls, function: ir.Operation, counts: DeviceCounts, free: FreeValues) -> FunctionValues:
        """Reads a function with a body."""
        ops: list[ir.Operation] = []
        inputs: list[Sequence[ir.Value]] = []
        users: dict[ir.Value, list[int]] = {}
        values: dict[ir.Value, Values] = {}

        def read(block: ir.Block, around: int | None) -> None:
            for view in block.operations:
                op = view.operation
                number = around if op.name in TERMINATORS else len(ops)
                is_followed = op.name in STEPS | INLINED_REGIONS
                taken = (*op.operands, *(() if is_followed else free.of(op)))
                if number is not None:
                    for value in taken:
                        users.setdefault(value, []).append(number)
                if op.name in TERMINATORS:
                    continue
                ops.append(op)
                inputs.append(taken)
                if len(op.results) == 1 and (computed := device_values(op, values, counts)) is not None:
                    values[op.results[0]] = computed
                if is_followed:
                    for region in op.regions:
                        read(region.blocks[0], number)

        block = function.regions[0].blocks[0]
        read(block, None)
        return cls(list(block.arguments), ops, inputs, users, list(terminator(block).operands), values)


def predicate_of(step: ir.Operation) -> ir.Value:
    """Gives what a loop or conditional goes by."""
    return terminator(step.regions[0].blocks[0]).operands[0] if step.name == LOOP else step.operands[0]
