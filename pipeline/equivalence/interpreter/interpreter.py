"""Runs a module by StableHLO's own interpreter, for all its processes at once: a reference that needs no XLA.

Each process is a coroutine that stops at every collective; when all who take part have come, each gets its results and
goes on. There are no threads and no clocks, so the result is the same every time, and a deadlock is seen.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.mlir import mhlo
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import CONDITIONALS, LOOP, MANUAL_COMPUTATION, TERMINATORS, free_values, ops_in
from hloverlap.pipeline.equivalence import inputs
from hloverlap.pipeline.equivalence.entry import Entry, NotRunnableError, entry_function
from hloverlap.pipeline.equivalence.interpreter import collectives
from hloverlap.pipeline.equivalence.interpreter.collectives import Grid, Process
from hloverlap.pipeline.equivalence.interpreter.manual_computation import ManualComputations
from hloverlap.pipeline.equivalence.interpreter.op_eval import TOKEN, Evaluator, Value, from_array

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Kind

MOST_STEPS = 200_000  # ops evaluated by one process; a loop whose end depends on its inputs may have none

_TOKENS = frozenset({"stablehlo.after_all", "stablehlo.create_token"})
_IDENTITIES = frozenset({"stablehlo.optimization_barrier", "sdy.sharding_constraint"})


class _Arrival(NamedTuple):
    """Says that a process has come to a collective, through the calls on `path`, and waits."""

    op: ir.Operation
    path: tuple[ir.Operation, ...]
    operands: tuple[Value, ...]


_Frame = dict[ir.Value, Value]
_Run = Generator[_Arrival, list[Value], list[Value]]


def uses_global_view(module: ir.Module) -> bool:
    """Says whether main is about whole arrays, of which manual computations take parts, and not about one device's."""
    return bool(ops_in(module.operation, MANUAL_COMPUTATION))


class Interpreter:
    """Runs one module. Raises NotRunnableError for what has no meaning outside XLA, such as custom calls.

    The module is the interpreter's to change: its MHLO becomes StableHLO.
    """

    def __init__(self, module: ir.Module) -> None:
        mhlo.to_stablehlo(module.operation)
        self._symbols = Symbols(module.operation)
        self._main = entry_function(module)
        self._evaluator = Evaluator(module.context)
        self._manual = ManualComputations(module, self._evaluator)
        self._groups = ReplicaGroups(module.operation)
        counts = device_counts(module)
        self._steps: dict[Process, int] = {}
        self.grid = Grid(counts.replicas or 1, 1 if uses_global_view(module) else counts.partitions or 1)

    def run(self, arguments: Sequence[Sequence[Value]]) -> list[list[Value]]:
        """Runs main; gives the results of each process. arguments: of each, in the order of `grid.processes`."""
        self._steps.clear()
        block = self._main.regions[0].blocks[0]
        runs = {
            process: self._block(block, dict(zip(block.arguments, values, strict=True)), (), process)
            for process, values in zip(self.grid.processes, arguments, strict=True)
        }
        results = self._to_the_end(runs, self.grid)
        return [results[process] for process in self.grid.processes]

    def _to_the_end(self, runs: dict[Process, _Run], grid: Grid) -> dict[Process, list[Value]]:
        """Runs coroutines until all have returned; gives what they returned."""
        finished: dict[Process, list[Value]] = {}
        waiting: dict[Process, _Arrival] = {}
        answers: dict[Process, list[Value] | None] = dict.fromkeys(runs)
        while answers:
            for process, answer in answers.items():
                try:
                    waiting[process] = runs[process].send(answer)  # type: ignore[arg-type]
                except StopIteration as stop:
                    finished[process] = stop.value
            places = dict.fromkeys((each.op, each.path) for each in waiting.values())
            answers = {}
            for place in places:
                offers = {process: each.operands for process, each in waiting.items() if each[:2] == place}
                answers |= collectives.rendezvous(place[0], offers, grid, self._groups, self._evaluator)
            if waiting and not answers:
                raise collectives.deadlock({process: each.op for process, each in waiting.items()}, grid)
            for process in answers:
                del waiting[process]
        return finished

    def _block(self, block: ir.Block, frame: _Frame, path: tuple[ir.Operation, ...], process: Process) -> _Run:
        """Evaluates a block whose arguments are in `frame`; returns what its terminator gives."""
        for view in block.operations:
            op = view.operation
            if op.name in TERMINATORS:
                return [frame[operand] for operand in op.operands]
            self._count_step(process)
            results = yield from self._op(op, frame, path, process)
            frame.update(zip(op.results, results, strict=True))
        raise NotRunnableError("a block has no end")

    def _op(self, op: ir.Operation, frame: _Frame, path: tuple[ir.Operation, ...], process: Process) -> _Run:
        operands = [frame[operand] for operand in op.operands]
        name = op.name
        if name in KINDS:
            return (yield _Arrival(op, path, tuple(operands)))
        if name in _IDENTITIES:
            return operands
        if name in _TOKENS:
            return [ir.StringAttr.get(TOKEN, op.context)]
        if name in ("stablehlo.partition_id", "stablehlo.replica_id"):
            number = process.partition if name == "stablehlo.partition_id" else process.replica
            return [ir.Attribute.parse(f"dense<{number}> : tensor<ui32>", op.context)]
        if name == LOOP:
            return (yield from self._while(op, operands, frame, path, process))
        if name in CONDITIONALS:
            branch = self._branch(op, operands[0])
            return (yield from self._block(op.regions[branch].blocks[0], frame, path, process))
        if name == MANUAL_COMPUTATION:
            return self._manual_computation(op, operands, frame, path, process)
        if (callee := self._symbols.callee(op)) is not None:
            function = self._symbols.functions.get(callee)
            if function is None or not function.regions[0].blocks or op in path:
                raise NotRunnableError(f"function '{callee}' has no body, or calls itself")
            block = function.regions[0].blocks[0]
            inner = dict(zip(block.arguments, operands, strict=True))
            return (yield from self._block(block, inner, (*path, op), process))
        if not name.startswith("stablehlo.") or name == "stablehlo.custom_call":
            what = f"custom call {op.attributes['call_target_name']}" if name == "stablehlo.custom_call" else name
            raise NotRunnableError(f"StableHLO's interpreter knows nothing of {what}")
        return self._evaluator.op(op, [*operands, *(frame[value] for value in free_values(op))])

    def _while(
        self, op: ir.Operation, values: list[Value], frame: _Frame, path: tuple[ir.Operation, ...], process: Process
    ) -> _Run:
        condition, body = (region.blocks[0] for region in op.regions)
        while True:
            frame.update(zip(condition.arguments, values, strict=True))
            (goes_on,) = yield from self._block(condition, frame, path, process)
            if not _integer(goes_on):
                return values
            frame.update(zip(body.arguments, values, strict=True))
            values = yield from self._block(body, frame, path, process)

    def _branch(self, op: ir.Operation, index: Value) -> int:
        number = _integer(index)
        if op.name == "stablehlo.if":
            return 0 if number else 1
        return number if 0 <= number < len(op.regions) else len(op.regions) - 1

    def _manual_computation(
        self,
        op: ir.Operation,
        operands: list[Value],
        frame: _Frame,
        path: tuple[ir.Operation, ...],
        process: Process,
    ) -> list[Value]:
        """Runs the body for all partitions of this replica, each with its parts of the operands."""
        block = op.regions[0].blocks[0]
        partitions, parts = self._manual.split(op, operands)
        runs = {
            Process(0, partition): self._block(
                block, frame | dict(zip(block.arguments, parts[partition], strict=True)), path, Process(0, partition)
            )
            for partition in range(partitions)
        }
        results = self._to_the_end(runs, Grid(1, partitions))
        return self._manual.join(op, [results[Process(0, partition)] for partition in range(partitions)])

    def _count_step(self, process: Process) -> None:
        self._steps[process] = self._steps.get(process, 0) + 1
        if self._steps[process] > MOST_STEPS:
            raise NotRunnableError(f"it is not over after {MOST_STEPS} steps")


def _integer(value: Value) -> int:
    return int(ir.DenseIntElementsAttr(value)[0])


def random_arguments(module: ir.Module, grid: Grid, kind: Kind, seed: int) -> list[list[Value]]:
    """Makes up arguments of main for each process. Scalar integers are the same for all: they decide who goes where."""
    parameters = entry_function(module).regions[0].blocks[0].arguments
    entry = Entry.of(module)
    made = []
    for number in range(len(grid.processes)):
        values = []
        for position, (parameter, argument) in enumerate(zip(entry.parameters, parameters, strict=True)):
            same = parameter.same_on_replicas or not parameter.shape
            name = (seed, 0 if same else number, position)
            array = inputs.random_array(parameter.shape, parameter.dtype, kind, name)
            values.append(from_array(array, argument.type))
        made.append(values)
    return made
