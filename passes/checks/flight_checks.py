"""Annotated permutes that can be in flight together and had better not (VCL009 to VCL011)."""

from __future__ import annotations

import dataclasses

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.dataflow import Dataflow, Place
from hloverlap.passes.context import Context
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import COMBINER_KEY
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in

# Each is compared with each; a module with more annotated permutes was annotated by a machine that knows what it does.
_MOST = 1024


@dataclasses.dataclass(frozen=True)
class _Met:
    """One execution of a permute. waits: bit n is set when it waits for the n-th one met."""

    fact: Collective
    combiner_key: str
    step: int
    waits: int

    @property
    def kind(self) -> tuple[object, ...]:
        """XLA's combiner joins independent permutes for which this is equal."""
        return self.step, self.fact.mode, self.fact.pairs, self.combiner_key


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Compares annotated permutes, and those of the same pairs, with each other."""
    met = _meet(symbols)
    told: dict[str, set[ir.Value]] = {}
    for number, late in enumerate(met):
        for bit, early in enumerate(met[:number]):
            if not late.waits >> bit & 1 and early.fact.op != late.fact.op:
                _compare(early, late, context, told)


def _meet(symbols: Symbols) -> list[_Met]:
    permutes = [Collective.of(op) for function in symbols.functions.values() for op in ops_in(function, PERMUTE)]
    annotated = {(fact.mode, fact.pairs) for fact in permutes if fact.stream is not None}
    met: list[_Met] = []
    if not annotated:
        return met

    def transfer(op: ir.Operation, waits: int, place: Place) -> int:
        if op.name != PERMUTE or len(met) >= _MOST:
            return waits
        fact = Collective.of(op)
        if (fact.mode, fact.pairs) not in annotated:
            return waits
        key = frontend_attributes.read(op).get(COMBINER_KEY, "")
        met.append(_Met(fact, key, place.step, waits))
        return waits | 1 << len(met) - 1

    Dataflow(symbols, 0, int.__or__, transfer).run()
    return met


def _compare(early: _Met, late: _Met, context: Context, told: dict[str, set[ir.Value]]) -> None:
    one, other = early.fact, late.fact

    def say(code: str, text: str, severity: str) -> None:
        if (result := other.op.results[0]) not in told.setdefault(code, set()):
            told[code].add(result)
            context.remark(code, text, other.op, severity)

    if early.kind == late.kind and one.pairs:
        both = one.stream is not None and other.stream is not None
        if both and one.stream != other.stream:
            streams = f"'{one.stream},{other.stream}'"
            say(
                "VCL009",
                f"XLA's combiner joins it with {describe(one.op)}, since their pairs are equal, and gives the one that "
                f"results the stream annotation {streams}: XLA 0.10.2 aborts, 0.12 makes it synchronous. Give each "
                "a combiner_key of its own.",
                "error",
            )
        else:
            say(
                "VCL010",
                f"XLA's combiner joins it with {describe(one.op)}, since their pairs are equal: the annotation then "
                "makes the one that results synchronous. Give each a combiner_key of its own.",
                "warning",
            )
    elif None not in (one.stream, other.stream) and one.stream != other.stream and _share_ranks(one, other):
        say(
            "VCL011",
            f"It can be in flight with {describe(one.op)} on another stream, and devices take part in both. With one "
            "NCCL communicator they run in turn all the same; with two, they wait for each other for ever if devices "
            "start them in different order. With peer memory inside a host both run at once.",
            "remark",
        )


def _share_ranks(one: Collective, other: Collective) -> bool:
    ids = [{number for pair in fact.pairs for number in pair} for fact in (one, other)]
    return one.mode == other.mode and not ids[0].isdisjoint(ids[1])
