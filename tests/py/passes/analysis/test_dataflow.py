"""Facts that follow the data."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.analysis import dataflow
from hloverlap.passes.analysis.dataflow import Dataflow
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.symbols import Symbols
from support.small_modules import FORWARD, TYPE, function, module, permute


def chain(count: int) -> str:
    """Calls of so many functions, one after the other, and a permute of what comes out."""
    calls = [f"%v{n + 1} = call @f{n}(%v{n}) : ({TYPE}) -> {TYPE}" for n in range(count)]
    first = f"%v0 = stablehlo.sine %a0 : {TYPE}"
    main = function("main", 1, [first, *calls, permute("%p", f"%v{count}", FORWARD)], ["%p"])
    sines = [function(f"f{n}", 1, [f"%r = stablehlo.sine %a0 : {TYPE}"], ["%r"], public=False) for n in range(count)]
    return module(main, *sines)


def test_many_functions_without_collectives_are_each_looked_at_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    ops_in = dataflow.ops_in

    def counted(root: ir.Operation, *names: str) -> list[ir.Operation]:
        nonlocal looked
        looked += 1
        return ops_in(root, *names)

    monkeypatch.setattr(dataflow, "ops_in", counted)
    text = chain(100)
    parsed = ir.Module.parse(text, make_context())
    assert len(Dataflow(Symbols(parsed.operation), 0, int.__or__, lambda op, fact, place: fact).run()) == 1
    assert 0 < looked <= 3 * 101


def test_functions_that_call_each_other_for_ever_end() -> None:
    texts = [
        function(name, 1, [f"%r = call @{other}(%a0) : ({TYPE}) -> {TYPE}"], ["%r"], public=False)
        for name, other in (("f", "g"), ("g", "f"))
    ]
    call = f"%r = call @f(%a0) : ({TYPE}) -> {TYPE}"
    met = []
    main = function("main", 1, [call, permute("%p", "%r", FORWARD)], ["%p"])
    parsed = ir.Module.parse(module(main, *texts), make_context())
    Dataflow(Symbols(parsed.operation), 0, int.__or__, lambda op, fact, place: met.append(op) or fact).run()
    assert [op.name for op in met] == ["stablehlo.collective_permute"]
