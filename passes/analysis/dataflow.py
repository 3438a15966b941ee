"""Carries one fact per value along data dependence through regions and calls, as XLA will execute them.

XLA inlines calls, composites and manual computations, so facts pass through them value by value. It runs a loop or
a conditional as one step: what is inside waits for every operand, and every result waits for all that is inside.
Two such steps never overlap each other, but a collective outside can be in flight across one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis import async_pairs
from hloverlap.passes.analysis.collectives import KINDS, functions_with_collectives, is_group_call
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import INLINED_REGIONS, STEPS, TERMINATORS, FreeValues, ops_in

Fact = TypeVar("Fact")

# A function called from n places is followed n times, up to this many visited ops for each op of the module;
# past that, calls of functions with collectives count as one step that waits for all and that all wait for.
_VISITS_PER_OP = 8


@dataclasses.dataclass(eq=False)
class Instance:
    """One execution path to a function: the call that leads here from the parent instance."""

    function: str
    op: ir.Operation | None = None
    """The call; None for a function where execution begins."""
    parent: Instance | None = None
    children: list[Instance] = dataclasses.field(default_factory=list)
    """The instances that calls in this one lead to, in execution order."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramPoint:
    """Says where a collective is run."""

    instance: Instance
    """The path to the function that holds it."""

    step: int
    """The number of the loop or conditional that holds it; 0 outside of all."""


Transfer = Callable[[ir.Operation, "Fact", ProgramPoint], "Fact"]


class Dataflow(Generic[Fact]):
    """Runs facts through a module.

    bottom: the fact of what depends on nothing. join: gives the fact of what depends on two; it must be associative,
    commutative and idempotent. transfer: is called once per execution path for each collective or group call, in
    program order, with the joined fact of its operands; gives the fact of its results.
    """

    def __init__(
        self, symbols: Symbols, bottom: Fact, join: Callable[[Fact, Fact], Fact], transfer: Transfer[Fact]
    ) -> None:
        self._symbols = symbols
        self._bottom = bottom
        self._join = join
        self._transfer = transfer
        self._free = FreeValues()
        self._holding = functions_with_collectives(symbols)
        self._mask_flow: Dataflow[int] | None = None  # through functions without collectives, one for all of them
        self._masks: dict[str, list[int]] = {}
        self._visits = _VISITS_PER_OP * sum(len(ops_in(function)) for function in symbols.functions.values())
        self._everything = bottom  # all that was met so far
        self._inside = bottom  # all that was met in the step being walked
        self._finished = bottom  # all that is inside steps that are over
        self._steps = 0
        self._stack: list[str] = []
        self._unfollowed: set[str] = set()

    def run(self) -> list[Instance]:
        """Walks from every function where execution can begin; gives those instances."""
        roots = []
        for name in self._symbols.roots():
            if not len(self._symbols.functions[name].regions[0].blocks):
                continue
            root = Instance(name)
            roots.append(root)
            count = len(self._symbols.functions[name].regions[0].blocks[0].arguments)
            self._function(root, [self._bottom] * count, self._bottom, 0)
        return roots

    def unfollowed(self) -> frozenset[str]:
        """Lists the functions with collectives that a call was not followed into, and all that they call."""
        reached, waiting = set(self._unfollowed), list(self._unfollowed)
        while waiting:
            for callee in self._symbols.callees(waiting.pop()):
                if callee not in reached:
                    reached.add(callee)
                    waiting.append(callee)
        return frozenset(reached)

    def _function(self, instance: Instance, arguments: Sequence[Fact], base: Fact, step: int) -> list[Fact]:
        block = self._symbols.functions[instance.function].regions[0].blocks[0]
        facts = dict(zip(block.arguments, arguments, strict=True))
        self._stack.append(instance.function)
        results = self._block(block, facts, base, ProgramPoint(instance, step))
        self._stack.pop()
        return results

    def _block(self, block: ir.Block, facts: dict[ir.Value, Fact], base: Fact, point: ProgramPoint) -> list[Fact]:
        join = self._join
        for view in block.operations:
            op = view.operation
            name = op.name
            if name in TERMINATORS:
                return [facts[operand] for operand in op.operands]
            self._visits -= 1
            fact = base
            for operand in op.operands:
                fact = join(fact, facts[operand])
            if name in KINDS or is_group_call(op) or async_pairs.started_kind(op) is not None:
                fact = self._transfer(op, fact, point)
                self._everything = join(self._everything, fact)
                self._inside = join(self._inside, fact)
            elif name in INLINED_REGIONS:
                inner = op.regions[0].blocks[0]
                facts.update(
                    (argument, facts[value]) for argument, value in zip(inner.arguments, op.operands, strict=True)
                )
                facts.update(zip(op.results, self._block(inner, facts, base, point), strict=True))
                continue
            elif (callee := self._symbols.callee(op)) is not None:
                called = self._call(op, callee, [facts[operand] for operand in op.operands], fact, base, point)
                facts.update(zip(op.results, called, strict=True))
                continue
            elif len(op.regions):
                for value in self._free.of(op):
                    fact = join(fact, facts[value])
                if name in STEPS:
                    fact = self._step(op, facts, fact, point)
            for result in op.results:
                facts[result] = fact
        return []

    def _step(self, op: ir.Operation, facts: dict[ir.Value, Fact], fact: Fact, point: ProgramPoint) -> Fact:
        outer, self._inside = self._inside, self._bottom
        self._steps += 1
        point_inside = ProgramPoint(point.instance, self._steps)
        for region in op.regions:
            for block in region.blocks:
                # A loop's condition and body, and the branches of a conditional, never run at the same time.
                base = self._join(self._join(fact, self._finished), self._inside)
                facts.update((argument, base) for argument in block.arguments)
                self._block(block, facts, base, point_inside)
        inside = self._inside
        self._finished = self._join(self._finished, inside)
        self._inside = self._join(outer, inside)
        return self._join(fact, inside)

    def _call(
        self, op: ir.Operation, callee: str, arguments: list[Fact], joined: Fact, base: Fact, point: ProgramPoint
    ) -> list[Fact]:
        function = self._symbols.functions.get(callee)
        if function is None or not len(function.regions[0].blocks) or callee in self._stack:
            return [joined] * len(op.results)
        if callee not in self._holding:
            return [self._joined(base, arguments, mask) for mask in self._masks_of(callee)]
        if self._visits < 0:
            self._unfollowed.add(callee)
            return [self._join(joined, self._everything)] * len(op.results)
        instance = Instance(callee, op, point.instance)
        point.instance.children.append(instance)
        return self._function(instance, arguments, base, point.step)

    def _joined(self, base: Fact, arguments: list[Fact], mask: int) -> Fact:
        for index, argument in enumerate(arguments):
            if mask >> index & 1:
                base = self._join(base, argument)
        return base

    def _masks_of(self, function: str) -> list[int]:
        """Gives, for each result of a function without collectives, the arguments it depends on, as bits."""
        if self._mask_flow is None:
            self._mask_flow = Dataflow(self._symbols, 0, int.__or__, lambda op, fact, point: fact)
            self._mask_flow._mask_flow = self._mask_flow
        flow = self._mask_flow
        if function not in flow._masks:
            count = len(self._symbols.functions[function].regions[0].blocks[0].arguments)
            flow._masks[function] = flow._function(Instance(function), [1 << i for i in range(count)], 0, 0)
        return flow._masks[function]
