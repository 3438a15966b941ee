"""Packing and unpacking give back every bit, for every type and for every mixture."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from generation.examining import interpret
from hloverlap.passes.building import packing
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.equivalence import checking

ELEMENTS = [
    "i1",
    "i2",
    "ui2",
    "i4",
    "ui4",
    "i8",
    "ui8",
    "i16",
    "ui16",
    "i32",
    "ui32",
    "i64",
    "ui64",
    "f8E4M3FN",
    "f8E5M2",
    "f8E4M3B11FNUZ",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "f8E3M4",
    "f8E8M0FNU",
    "f4E2M1FN",
    "bf16",
    "f16",
    "f32",
    "f64",
    "complex<f32>",
    "complex<f64>",
]
SHAPES = ("", "3x", "2x3x", "0x", "1x5x1x", "8x")
EVEN = ("4x", "8x", "3x4x", "0x")  # of which elements of any width fill a whole number of the widest units


def types(shapes: tuple[str, ...], size: int) -> strategies.SearchStrategy[list[str]]:
    one = strategies.builds("tensor<{}{}>".format, strategies.sampled_from(shapes), strategies.sampled_from(ELEMENTS))
    return strategies.lists(one, min_size=1, max_size=size)


def there_and_back(chosen: list[str], through_packing: bool) -> str:
    """A module whose results are its arguments, packed and unpacked or as they are."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        parsed = [ir.Type.parse(each) for each in chosen]
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", (parsed, parsed), visibility="public")
            block = main.add_entry_block()
            with ir.InsertionPoint(block):
                values = list(block.arguments)
                if through_packing:
                    values = packing.Layout(parsed).unpack(packing.pack(values), range(len(parsed)))
                func.ReturnOp(values)
        assert module.operation.verify()
        return str(module)


@pytest.mark.parametrize("element", ELEMENTS)
def test_every_type_can_be_packed(element: str, mlir: ir.Context) -> None:
    assert packing.can_pack(ir.Type.parse(f"tensor<2x3x{element}>"))


@pytest.mark.parametrize("kind", ["tensor<?xf32>", "tensor<4xf6E2M3FN>", "!stablehlo.token", "tuple<tensor<f32>>"])
def test_what_has_no_whole_number_of_bits_or_no_size_cannot(kind: str, mlir: ir.Context) -> None:
    assert not packing.can_pack(ir.Type.parse(kind))


@pytest.mark.parametrize("shape", ["2x3x", "8x"])
def test_all_types_at_once_keep_every_bit(shape: str) -> None:
    chosen = [f"tensor<{shape}{element}>" for element in ELEMENTS]
    result = checking.check(there_and_back(chosen, False).encode(), there_and_back(chosen, True).encode())
    assert result.status == "equal", result


@hypothesis.given(types(SHAPES, 6))
@hypothesis.settings(max_examples=100, deadline=None)
def test_any_mixture_gives_a_valid_module(chosen: list[str]) -> None:
    there_and_back(chosen, True)


@hypothesis.given(types(SHAPES, 4) | types(EVEN, 12))
@hypothesis.settings(max_examples=60, deadline=None)
def test_any_mixture_keeps_every_bit(chosen: list[str]) -> None:
    with make_context(), ir.Location.unknown():
        before, after = (ir.Module.parse(there_and_back(chosen, through_packing)) for through_packing in (False, True))
        wanted = interpret(before, 0)
        assert wanted is not None
        assert interpret(after, 0) == wanted
