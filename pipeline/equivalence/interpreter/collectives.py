"""Computes what a collective gives to each process, once all that take part have come to it.

StableHLO's interpreter has collectives of its own, in ``interpreter.run_parallel``; but its processes are threads that
abort after 3 s when there are fewer threads than processes, and it gives wrong results where a channel is used twice,
as JAX does. So only the computing is left to it; who sends what to whom is decided here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis.collectives import PERMUTE, mode_of, pairs_of
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.pipeline.equivalence.interpreter.op_eval import Evaluator, Value, zeros
from hloverlap.pipeline.equivalence.waits import DeadlockError


class Process(NamedTuple):
    """Says where a process is in the grid."""

    replica: int
    partition: int


@dataclasses.dataclass(frozen=True)
class Grid:
    """Says how many processes there are."""

    replicas: int
    partitions: int

    @property
    def processes(self) -> list[Process]:
        """Lists all of them, by replica, then by partition."""
        return [Process(replica, partition) for replica in range(self.replicas) for partition in range(self.partitions)]


Offers = Mapping[Process, Sequence[Value]]  # the operands of each process that waits at a collective
Results = dict[Process, list[Value]]


def rendezvous(op: ir.Operation, waiting: Offers, grid: Grid, groups: ReplicaGroups, evaluator: Evaluator) -> Results:
    """Gives the results of all processes that need not wait longer; {} when each waits for one that has not come."""
    if op.name == PERMUTE:
        return _permute(op, waiting, grid)
    results: Results = {}
    for numbers in groups.of(op, DeviceCounts(grid.replicas, grid.partitions)):
        group = [Process(*divmod(number, grid.partitions)) for number in numbers]
        if all(process in waiting for process in group):
            results |= zip(group, _of_group(op, [waiting[process] for process in group], evaluator), strict=True)
    return results


def _permute(op: ir.Operation, waiting: Offers, grid: Grid) -> Results:
    by_partition = mode_of(op) == "partition"
    pairs = pairs_of(op)
    results: Results = {}
    for row in range(grid.replicas if by_partition else grid.partitions):

        def process(number: int, row: int = row) -> Process:
            return Process(row, number) if by_partition else Process(number, row)

        here = [each for each in waiting if (each.replica if by_partition else each.partition) == row]
        taking_part = {process(number) for pair in pairs for number in pair}
        come = taking_part <= waiting.keys()
        source_of = {process(target): process(source) for source, target in pairs}
        for each in here:
            if each not in taking_part or (come and each not in source_of):
                results[each] = [zeros(op.results[0].type)]
            elif come:
                results[each] = list(waiting[source_of[each]])
    return results


def _of_group(op: ir.Operation, offers: Sequence[Sequence[Value]], evaluator: Evaluator) -> list[list[Value]]:
    """Computes the results of each member of one group, in its order."""
    size, count = len(offers), len(op.operands)
    types = [operand.type for _ in offers for operand in op.operands]
    values = [value for offer in offers for value in offer]
    made = []
    for member in range(size):

        def build(arguments: Sequence[ir.Value], member: int = member) -> list[ir.Value]:
            table = [arguments[start : start + count] for start in range(0, len(arguments), count)]
            return [_BUILDERS[op.name](op, [row[column] for row in table], member) for column in range(count)]

        made.append(evaluator.built((op, member, size), build, types, values))
    return made


def _gather(op: ir.Operation, parts: Sequence[ir.Value], member: int) -> ir.Value:
    return stablehlo.concatenate(parts, ir.IntegerAttr(op.attributes["all_gather_dim"]).value)


def _broadcast(op: ir.Operation, parts: Sequence[ir.Value], member: int) -> ir.Value:
    return parts[0]


def _exchange(op: ir.Operation, parts: Sequence[ir.Value], member: int) -> ir.Value:
    split = ir.IntegerAttr(op.attributes["split_dimension"]).value
    pieces = [_slice(part, split, member, len(parts)) for part in parts]
    return stablehlo.concatenate(pieces, ir.IntegerAttr(op.attributes["concat_dimension"]).value)


def _reduce(op: ir.Operation, parts: Sequence[ir.Value], member: int) -> ir.Value:
    """Reduces in the order of the group, so that the result is the same every time."""
    total = parts[0]
    rank = ir.RankedTensorType(total.type).rank
    for part in parts[1:]:
        mapped = stablehlo.MapOp(total.type, [total, part], list(range(rank)))
        block = mapped.regions[0].blocks.append(*(argument.type for argument in op.regions[0].blocks[0].arguments))
        copied = dict(zip(op.regions[0].blocks[0].arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for view in op.regions[0].blocks[0].operations:
                copy = view.operation.clone().operation
                for number, operand in enumerate(copy.operands):
                    copy.operands[number] = copied[operand]
                copied.update(zip(view.operation.results, copy.results, strict=True))
        total = mapped.results[0]
    return total


def _scatter(op: ir.Operation, parts: Sequence[ir.Value], member: int) -> ir.Value:
    dimension = ir.IntegerAttr(op.attributes["scatter_dimension"]).value
    return _slice(_reduce(op, parts, member), dimension, member, len(parts))


def _slice(value: ir.Value, dimension: int, number: int, count: int) -> ir.Value:
    """Gives the `number`-th of `count` equal parts."""
    shape = list(ir.RankedTensorType(value.type).shape)
    start, limit = [0] * len(shape), list(shape)
    start[dimension] = number * shape[dimension] // count
    limit[dimension] = (number + 1) * shape[dimension] // count
    return stablehlo.slice(value, start, limit, [1] * len(shape))


_BUILDERS: Mapping[str, Callable[[ir.Operation, Sequence[ir.Value], int], ir.Value]] = {
    "stablehlo.all_gather": _gather,
    "stablehlo.all_reduce": _reduce,
    "stablehlo.all_to_all": _exchange,
    "stablehlo.collective_broadcast": _broadcast,
    "stablehlo.reduce_scatter": _scatter,
}


def deadlock(waiting: Mapping[Process, ir.Operation], grid: Grid) -> DeadlockError:
    """Explains that no process can go on. waiting: the collective at which each stands; the others are done."""
    return DeadlockError(
        {
            number: describe(waiting[process], None) if process in waiting else ""
            for number, process in enumerate(grid.processes)
        }
    )
