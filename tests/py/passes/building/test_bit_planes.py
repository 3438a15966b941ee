"""Elements in planes of words, and back: whatever their widths, and however they are split."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from generation.examining import interpret
from hloverlap.passes.building.bit_planes import from_words, joined, sliced, to_words
from hloverlap.passes.mlir.dialects import make_context

WIDTHS = st.sampled_from([(8, 16), (8, 32), (16, 32), (32, 16), (64, 32), (64, 8)])


def module(sizes: list[int], widths: tuple[int, int], start: int, size: int, in_words: bool) -> ir.Module:
    """Returns elements [start, start + size) of its arguments, side by side, by way of words or directly."""
    element, word = map(ir.IntegerType.get_unsigned, widths)
    types = [ir.RankedTensorType.get([each], element) for each in sizes]
    made = ir.Module.create()
    with ir.InsertionPoint(made.body):
        main = func.FuncOp("main", (types, [ir.RankedTensorType.get([size], element)]), visibility="public")
        with ir.InsertionPoint(main.add_entry_block()):
            if in_words:
                result = from_words(to_words(main.arguments, word), element, start, size)
            else:
                result = sliced(joined(main.arguments), start, size)
            func.ReturnOp([result])
    assert made.operation.verify()
    return made


def assert_same(sizes: list[int], widths: tuple[int, int], start: int, size: int) -> str:
    """Text of the module that goes by way of words."""
    with make_context(), ir.Location.unknown():
        direct, by_words = (module(sizes, widths, start, size, in_words) for in_words in (False, True))
        wanted = interpret(direct, 0)
        assert wanted is not None
        assert interpret(by_words, 0) == wanted
        return str(by_words)


@hypothesis.given(st.lists(st.integers(0, 9), min_size=1, max_size=14), WIDTHS, st.data())
@hypothesis.settings(max_examples=150, deadline=None)
def test_every_element_comes_back(sizes: list[int], widths: tuple[int, int], data: st.DataObject) -> None:
    ratio = max(1, widths[1] // widths[0])
    sizes = [*sizes, -sum(sizes) % ratio]
    start = data.draw(st.integers(0, sum(sizes)))
    assert_same(sizes, widths, start, data.draw(st.integers(0, sum(sizes) - start)))


@pytest.mark.parametrize("number", [2, 3, 4])
def test_no_plane_is_mistaken_for_another(number: int) -> None:
    assert_same([4] * number, (8, 32), 0, 4 * number)


def test_parts_that_are_alike_are_not_joined_before_their_bits_are() -> None:
    text = assert_same([8] * 64, (8, 32), 8, 8)
    assert text.count("stablehlo.concatenate") == 1
    assert text.count("stablehlo.or") == 16 * 3


def test_many_parts_of_any_size_are_joined_first() -> None:
    text = assert_same([5] + [3] * 63, (16, 32), 8, 8)
    assert text.count("stablehlo.concatenate") == 1
    assert text.count("stablehlo.or") == 1
