"""Lanes against the definition: two collectives can be in flight together if neither needs the other."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies
from jaxlib.mlir import ir

from hloverlap.passes.analysis import concurrency
from hloverlap.passes.analysis.collectives import PERMUTE
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.symbols import Symbols
from support import small_modules as text

# A program: for each op, its kind (permute around one of two rings, or an add) and which two earlier values it takes.
steps = strategies.lists(
    strategies.tuples(strategies.sampled_from(["forward", "backward", "add"]), *[strategies.integers(0, 10**6)] * 2),
    max_size=24,
)


def _program(chosen: list[tuple[str, int, int]]) -> tuple[str, dict[str, set[str]]]:
    """The module, and for each permute's result the permutes that it needs."""
    values = ["%a0", "%a1", "%a2"]
    needs: dict[str, set[str]] = {value: set() for value in values}
    lines, permutes = [], []
    for number, (kind, first, second) in enumerate(chosen):
        one, two = values[first % len(values)], values[second % len(values)]
        result = f"%v{number}"
        if kind == "add":
            lines.append(f"{result} = stablehlo.add {one}, {two} : {text.TYPE}")
            needs[result] = needs[one] | needs[two]
        else:
            lines.append(text.permute(result, one, text.FORWARD if kind == "forward" else text.BACKWARD))
            needs[result] = needs[one] | {result}
            permutes.append(result)
        values.append(result)
    body = text.function("main", 3, lines, values[-1:])
    return text.module(body), {result: needs[result] - {result} for result in permutes}


@hypothesis.given(steps, strategies.integers(1, 5))
@hypothesis.settings(max_examples=60, deadline=None)
def test_a_partner_is_found_exactly_where_there_is_one(chosen: list[tuple[str, int, int]], most: int) -> None:
    module_text, needs = _program(chosen)
    names = list(needs)
    independent = {(a, b) for a in names for b in names if a != b and a not in needs[b] and b not in needs[a]}
    with make_context():
        module = ir.Module.parse(module_text)
        placed = concurrency.place(Symbols(module.operation), most, (), frozenset({PERMUTE}))
        unit_of = {}
        results = [
            op.operation.results[0]
            for op in module.body.operations[0].regions[0].blocks[0].operations
            if op.operation.name == PERMUTE
        ]
        for unit in placed.units:
            for member in unit.members:
                unit_of[names[results.index(member.op.results[0])]] = unit
        assert len(unit_of) == len(names)
        for unit in placed.units:
            members = [name for name in names if unit_of[name] is unit]
            # XLA can join only what is independent.
            assert all((a, b) in independent for a in members for b in members if a != b)
            if unit.overlaps_with is not None:
                # What is named really can be in flight with a member.
                other = names[results.index(unit.overlaps_with.results[0])]
                assert any((name, other) in independent for name in members)
        # With lanes enough, nothing that could overlap is missed, unless XLA joins permutes, which then wait for all
        # that any of them waits for, or a lane holds permutes with the same pairs, which use the same links.
        alone = all(len(unit.members) == 1 and unit.queued_behind is None for unit in placed.units)
        if most >= len(names) and alone:
            for a, b in independent:
                assert unit_of[a].lane != unit_of[b].lane
                assert unit_of[a].overlaps_with is not None


def test_chains_stay_on_their_lane(mlir: ir.Context) -> None:
    lines = []
    for step in range(50):
        for ring, pairs in (("f", text.FORWARD), ("b", text.BACKWARD)):
            operand = f"%{ring}{step - 1}" if step else ("%a0" if ring == "f" else "%a1")
            lines.append(text.permute(f"%{ring}{step}", operand, pairs))
    module = ir.Module.parse(text.module(text.function("main", 2, lines, ["%f49", "%b49"])))
    placed = concurrency.place(Symbols(module.operation), 4, (), frozenset({PERMUTE}))
    assert [unit.lane for unit in placed.units] == [1, 2] * 50


def test_work_grows_with_the_module_and_not_with_its_paths(mlir: ir.Context) -> None:
    """Thirty functions that each call the next one twice: a billion paths."""
    functions = [text.function("main", 1, ["%v = call @f0(%a0) : (tensor<8xf32>) -> tensor<8xf32>"], ["%v"])]
    for depth in range(30):
        call = f"call @f{depth + 1}"
        lines = [f"%v{n} = {call}(%{'a' if n == 0 else 'v'}0) : (tensor<8xf32>) -> tensor<8xf32>" for n in range(2)]
        functions.append(text.function(f"f{depth}", 1, lines, ["%v1"], public=False))
    functions.append(text.function("f30", 1, [text.permute("%v", "%a0", text.FORWARD)], ["%v"], public=False))
    module = ir.Module.parse(text.module(*functions))
    placed = concurrency.place(Symbols(module.operation), 4, (), frozenset({PERMUTE}))
    ops = sum(text_.count(" = ") + 2 for text_ in functions)
    assert sum(len(unit.members) for unit in placed.units) <= 8 * ops
    assert "f30" in placed.unfollowed
