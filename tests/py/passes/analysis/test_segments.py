"""Reordering for a merge moves what has to move and nothing else."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies
from jaxlib.mlir import ir

from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.segments import Segment, reorder, segments
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.symbols import Symbols
from support import small_modules as text


def _segment(module: ir.Module) -> Segment:
    block = module.body.operations[0].regions[0].blocks[0]
    (found,) = segments(block, Effects(Symbols(module.operation)), lambda op: True)
    return found


@hypothesis.given(
    strategies.lists(
        strategies.tuples(strategies.booleans(), *[strategies.integers(0, 99)] * 2), min_size=2, max_size=20
    )
)
@hypothesis.settings(max_examples=60, deadline=None)
def test_sets_of_one_level_can_always_be_brought_together(chosen: list[tuple[bool, int, int]]) -> None:
    values, lines = ["%a0", "%a1"], []
    for number, (is_permute, first, second) in enumerate(chosen):
        one, two = values[first % len(values)], values[second % len(values)]
        result = f"%v{number}"
        line = (
            text.permute(result, one, text.FORWARD)
            if is_permute
            else f"{result} = stablehlo.add {one}, {two} : {text.TYPE}"
        )
        lines.append(line)
        values.append(result)
    with make_context():
        module = ir.Module.parse(text.module(text.function("main", 2, lines, values[-1:])))
        segment = _segment(module)
        permutes = [number for number, (is_permute, _, _) in enumerate(chosen) if is_permute]
        levels = segment.levels(permutes)
        sets: dict[int, list[int]] = {}
        for number in permutes:
            sets.setdefault(levels[number], []).append(number)
        if not sets:
            return
        results = [op.results[0] for op in segment.ops]
        reorder(segment, list(sets.values()))
        assert module.operation.verify()  # every value still comes before its uses
        order = [results.index(op.results[0]) for op in segment.again().ops]
        assert sorted(order) == list(range(len(order)))
        for members in sets.values():
            places = sorted(order.index(member) for member in members)
            assert places == list(range(places[0], places[0] + len(members)))


def test_a_capture_in_a_region_is_a_need(mlir: ir.Context) -> None:
    module = ir.Module.parse(
        text.module(
            text.function(
                "main",
                2,
                [
                    text.permute("%p", "%a0", text.FORWARD),
                    "%i = stablehlo.constant dense<0> : tensor<i32>",
                    '%c = "stablehlo.case"(%i) ({ stablehlo.return %p : tensor<8xf32> })',
                    ": (tensor<i32>) -> tensor<8xf32>",
                    text.permute("%q", "%c", text.BACKWARD),
                ],
                ["%q"],
            )
        )
    )
    assert _segment(module).levels([0, 3]) == [1, 0, 1, 2]
