"""A permute of a permute, composed: the same bits, one message less."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies

from generation.pairs import Pairs, pairs
from hloverlap.pipeline.equivalence import checking
from support import small_modules as text
from support.equivalence import rewritten

TYPES = ["f32", "bf16", "f8E4M3FN", "i1", "i4", "i32", "complex<f32>"]

# Which earlier value each permute takes, and its pairs.
steps = strategies.lists(strategies.tuples(strategies.integers(0, 9), pairs(4)), min_size=2, max_size=6)


@hypothesis.given(steps)
@hypothesis.settings(max_examples=40, deadline=None)
def test_trees_of_permutes_keep_every_bit(chosen: list[tuple[int, Pairs]]) -> None:
    values, lines, taken = ["%a0"], [], set[str]()
    for number, (back, step) in enumerate(chosen):
        operand = values[-1 - back % min(2, len(values))]
        taken.add(operand)
        lines.append(text.permute(f"%v{number}", operand, step))
        values.append(f"%v{number}")
    ends = [value for value in values if value not in taken]
    result = rewritten(text.module(text.function("main", 1, lines, ends)), "compose-permutes")
    # Only what main returns is left to send.
    assert str(result.module).count("collective_permute") == len(ends)


@pytest.mark.parametrize("element", TYPES)
def test_xla_computes_the_same_bits(element: str) -> None:
    kind = f"tensor<4x{element}>"
    halo = [[0, 1], [1, 2], [2, 3]]
    lines = [text.permute("%b", "%a", halo, kind), text.permute("%c", "%b", [[3, 1], [2, 0], [0, 2]], kind)]
    body = "\n".join(lines)
    before = text.module(f"func.func public @main(%a: {kind}) -> {kind} {{\n{body}\nreturn %c : {kind}\n}}")
    after = str(rewritten(before, "compose-permutes").module)
    assert after.count("collective_permute") == 1
    assert checking.check(before.encode(), after.encode(), seeds=(0, 1)).status == "equal"
