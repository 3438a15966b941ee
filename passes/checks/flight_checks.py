"""Checks annotated permutes that can be in flight together and had better not (VCL009 to VCL011)."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from jaxlib.mlir import ir

from hloverlap.passes.analysis import combiner, xla_streams
from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.dataflow import Dataflow, ProgramPoint
from hloverlap.passes.checks.fault import Fault
from hloverlap.passes.context import Context
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in

# Each is compared with each; a module with more annotated permutes was annotated by a machine that knows what it does.
_MOST = 1024

_KEYS = "Give each a combiner_key of its own."

# What becomes of the permute that the combiner makes of two that it had better not join.
_JOINED = {
    "synchronous": "the annotation then makes the one that results synchronous",
    "moved": "the one that results is then on the stream that one of them names",
    "leaves domain": "the one that results is then in no communication domain",
}


@dataclasses.dataclass(frozen=True)
class _Execution:
    """One execution of a permute."""

    fact: Collective
    kind: Hashable
    """What is equal for permutes that XLA's combiner may join: see `combiner.kind`."""
    waits: int
    """Bit n is set when it waits for the n-th execution."""


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Compares annotated permutes, and those of the same pairs, with each other, and leaves remarks."""
    for fault in find(symbols, context.capabilities):
        fault.tell(context)


def find(symbols: Symbols, capabilities: Capabilities, combine_limit: int = COMBINE_THRESHOLD_DEFAULT) -> list[Fault]:
    """Gives what is wrong; of each kind once for a permute. combine_limit: bytes that XLA's combiner joins at most."""
    executions = _executions(symbols)
    reported: set[tuple[str, ir.Value]] = set()
    faults = []
    for number, late in enumerate(executions):
        for bit, early in enumerate(executions[:number]):
            if late.waits >> bit & 1 or early.fact.op == late.fact.op:
                continue
            fault = _compare(early, late, capabilities, combine_limit)
            if fault is not None and (key := (fault.code, fault.op.results[0])) not in reported:
                reported.add(key)
                faults.append(fault)
    return faults


def _executions(symbols: Symbols) -> list[_Execution]:
    permutes = [Collective.of(op) for function in symbols.functions.values() for op in ops_in(function, PERMUTE)]
    wanted = {(fact.mode, fact.pairs) for fact in permutes if fact.stream is not None or fact.domain is not None}
    executions: list[_Execution] = []
    if not wanted:
        return executions

    def transfer(op: ir.Operation, waits: int, place: ProgramPoint) -> int:
        if op.name != PERMUTE or len(executions) >= _MOST:
            return waits
        fact = Collective.of(op)
        if (fact.mode, fact.pairs) not in wanted:
            return waits
        executions.append(_Execution(fact, combiner.kind(fact, place.step), waits))
        return waits | 1 << len(executions) - 1

    Dataflow(symbols, 0, int.__or__, transfer).run()
    return executions


def _compare(early: _Execution, late: _Execution, capabilities: Capabilities, combine_limit: int) -> Fault | None:
    one, other = early.fact, late.fact
    if early.kind == late.kind and one.pairs and combiner.fits(one.bytes, other.bytes, combine_limit):
        joins = f"XLA's combiner joins it with {describe(one.op, other.op)}, since their pairs are equal"
        if None not in (one.stream, other.stream) and one.stream != other.stream:
            text = (
                f"{joins}, and gives the one that results the stream annotation '{one.stream},{other.stream}': "
                f"XLA 0.10.2 aborts, 0.12 makes it synchronous. {_KEYS}"
            )
            return Fault("VCL009", "error", text, other.op, (one.op,))
        if (outcome := combiner.outcome(one, other, capabilities)) in _JOINED:
            return Fault("VCL010", "warning", f"{joins}: {_JOINED[outcome]}. {_KEYS}", other.op, (one.op,))
        return None
    streams = [xla_streams.chosen_stream(fact, capabilities) for fact in (one, other)]
    if None not in streams and streams[0] != streams[1] and _share_ranks(one, other):
        text = (
            f"It can be in flight with {describe(one.op, other.op)} on another stream, and devices take part in both. "
            "With one NCCL communicator they run in turn all the same; with two, they wait for each other for ever "
            "if devices start them in different order. With peer memory inside a host both run at once."
        )
        return Fault("VCL011", "remark", text, other.op, (one.op,))
    return None


def _share_ranks(one: Collective, other: Collective) -> bool:
    ids = [{number for pair in fact.pairs for number in pair} for fact in (one, other)]
    return one.mode == other.mode and not ids[0].isdisjoint(ids[1])
