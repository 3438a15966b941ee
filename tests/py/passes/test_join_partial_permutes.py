"""Partial permutes joined into one: the same bits, fewer messages, and only where that is estimated to pay."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies

from generation.pairs import Pairs, pairs
from hloverlap.pipeline.equivalence import checking
from hloverlap.pipeline.execution import running
from support.equivalence import codes, rewritten
from support.replica_modules import TYPES, module


@pytest.mark.parametrize("element", TYPES)
def test_xla_computes_the_same_bits(element: str) -> None:
    before = module([("%a", [(0, 1), (1, 3)]), ("%b", [(2, 0)]), ("%a", [(3, 2)])], f"tensor<8x{element}>")
    result = rewritten(before, "join-partial-permutes", "1x1x4", "cpu")
    assert codes(result) == ["JPP001"] * 3
    assert str(result.module).count("collective_permute") == 1
    assert checking.check(before.encode(), str(result.module).encode(), seeds=(0, 2)).status == "equal"


@hypothesis.given(
    strategies.lists(strategies.tuples(strategies.integers(0, 3), pairs(4)), min_size=2, max_size=7),
    strategies.sampled_from(TYPES),
    strategies.sampled_from(["h200", "cpu"]),
)
@hypothesis.settings(max_examples=80, deadline=None)
def test_any_permutes_keep_every_bit(chosen: list[tuple[int, Pairs]], element: str, target: str) -> None:
    permutes: list[tuple[str, Pairs]] = []
    for back, sent in chosen:
        values = ["%a", "%b", *(f"%v{number}" for number in range(len(permutes)))]
        permutes.append((values[-1 - back % len(values)], sent))
    rewritten(module(permutes, f"tensor<2x{element}>"), "join-partial-permutes", "1x1x4", target)


def test_large_ones_are_left_where_the_selects_take_longer_than_a_message() -> None:
    large = "tensor<67108864xf32>"
    text = module([("%a", [(0, 1)]), ("%b", [(1, 0)])], large)
    result = running.run(text.encode(), "join-partial-permutes", target="cpu", topology="1x1x4")
    assert [remark.code for remark in result.remarks] == ["JPP006", "JPP006"]
    assert "it would take about" in result.remarks[0].message
    assert not result.changed
