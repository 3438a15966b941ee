"""Which axes are left to XLA where an op stands."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.analysis.mesh_axes import MeshAxes
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in

T = "tensor<4xf32>"
SHARDING = "<@mesh, [{?}]>"


def manual(axes: str, argument: str, body: str) -> str:
    """A manual computation over these axes of the mesh; its body is given %i and returns %b."""
    names = ", ".join(f'"{axis}"' for axis in axes)
    return f"""sdy.manual_computation({argument}) in_shardings=[{SHARDING}] out_shardings=[{SHARDING}]
      manual_axes={{{names}}} (%i: {T}) {{ {body} sdy.return %b : {T} }} : ({T}) -> {T}"""


def axes_of(main: str, rest: str = "") -> tuple[bool, tuple[str, ...]]:
    """What is said of the one negate in a module."""
    return said_of(main, rest)[:2]


def said_of(main: str, rest: str = "") -> tuple[bool, tuple[str, ...], int]:
    """The same, with the parts."""
    text = f"""module attributes {{mhlo.num_partitions = 8 : i32}} {{
      sdy.mesh @mesh = <["x"=2, "y"=4, "z"=1]>
      func.func public @main(%a: {T}) -> {T} {{ {main} return %r : {T} }}
      {rest} }}"""
    with make_context():
        module = ir.Module.parse(text)
        (op,) = ops_in(module.operation, "stablehlo.negate")
        axes = MeshAxes(module.operation, Symbols(module.operation))
        return axes.are_manual(op), axes.free(op), axes.parts(op)


def function(body: str, name: str = "f") -> str:
    return f"func.func private @{name}(%a: {T}) -> {T} {{ {body} return %r : {T} }}"


NEGATE = f"%r = stablehlo.negate %a : {T}"
CALL = f"%b = func.call @f(%i) : ({T}) -> {T}"


@pytest.mark.parametrize(
    ("axes", "all_manual", "free"),
    [("xyz", True, ()), ("xy", False, ()), ("x", False, ("y",)), ("y", False, ("x",)), ("z", False, ("x", "y"))],
)
def test_axes_of_one_device_are_not_missed(axes: str, all_manual: bool, free: tuple[str, ...]) -> None:
    assert axes_of("%r = " + manual(axes, "%a", f"%b = stablehlo.negate %i : {T}")) == (all_manual, free)
    assert axes_of("%r = " + manual(axes, "%a", CALL), function(NEGATE)) == (all_manual, free)


def test_outside_of_all_manual_computations_nothing_is_free() -> None:
    assert axes_of(NEGATE) == (False, ())
    assert axes_of(f"%r = func.call @f(%a) : ({T}) -> {T}", function(NEGATE)) == (False, ())


def test_axes_of_nested_computations_add_up_through_calls() -> None:
    inner = "%r = " + manual("y", "%a", f"%b = stablehlo.negate %i : {T}")
    assert axes_of("%r = " + manual("x", "%a", CALL), function(inner)) == (False, ())
    assert axes_of("%r = " + manual("xz", "%a", CALL), function(inner)) == (True, ())


def test_a_function_called_from_two_places_has_what_is_free_in_either() -> None:
    one, other = manual("xyz", "%a", CALL), manual("y", "%c", CALL)
    assert axes_of(f"%c = {one}\n %r = {other}", function(NEGATE)) == (False, ("x",))


def test_a_recursive_function_ends() -> None:
    body = f"%c = func.call @f(%a) : ({T}) -> {T}\n {NEGATE}"
    assert axes_of("%r = " + manual("x", "%a", CALL), function(body)) == (False, ("y",))


@pytest.mark.parametrize(("axes", "parts"), [("xyz", 1), ("xy", 1), ("x", 4), ("y", 2), ("z", 8)])
def test_parts_are_the_devices_along_what_is_free(axes: str, parts: int) -> None:
    assert said_of("%r = " + manual(axes, "%a", f"%b = stablehlo.negate %i : {T}"))[2] == parts


@pytest.mark.parametrize(
    ("sharding", "parts"),
    [
        ("{manual}", 1),
        ("{devices=[2,4]<=[8] last_tile_dims={manual, replicated}}", 4),
        ("{devices=[1,1,4,2]<=[8] last_tile_dims={manual, replicated}}", 2),
        ("{devices=[2,1,4]<=[8] last_tile_dims={manual}}", 2),
        ("{devices=[1,8,1]<=[8] last_tile_dims={manual, replicated}}", 1),
    ],
)
def test_gspmd_says_it_of_what_enters(sharding: str, parts: int) -> None:
    enter = f'%b = stablehlo.custom_call @SPMDFullToShardShape(%a) {{mhlo.sharding = "{sharding}"}} : ({T}) -> {T}'
    said = said_of(f"{enter}\n %r = func.call @f(%b) : ({T}) -> {T}", function(NEGATE))
    assert said == (False, ("(unnamed)",) if parts > 1 else (), parts)
