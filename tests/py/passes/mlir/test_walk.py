"""Ways through a module."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.walk import (
    FreeValues,
    blocks_with,
    definition,
    free_values,
    function_of,
    has_uses,
    ops_in,
    terminator,
)

TEXT = """
func.func @main(%a: tensor<f32>, %n: tensor<i1>, %k: tensor<i32>) -> tensor<f32> {
  %b = stablehlo.add %a, %a : tensor<f32>
  %r = "stablehlo.if"(%n) ({
    %c = stablehlo.multiply %b, %a : tensor<f32>
    %s = "stablehlo.case"(%k) ({
      %d = stablehlo.add %c, %b : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }, {
    stablehlo.return %a : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}"""


@pytest.fixture
def parsed(mlir: ir.Context) -> ir.Module:
    return ir.Module.parse(TEXT)


@pytest.fixture
def module(parsed: ir.Module) -> ir.Operation:
    return parsed.operation  # lives no longer than the module


def names(ops: list[ir.Operation]) -> list[str]:
    return [op.name.partition(".")[2] for op in ops]


def test_ops_come_after_what_they_hold_unless_the_text_counts(module: ir.Operation) -> None:
    wanted = ("stablehlo.add", "stablehlo.if", "stablehlo.case")
    assert names(ops_in(module, *wanted)) == ["add", "add", "case", "if"]
    assert names(ops_in(module, *wanted, order=ir.WalkOrder.PRE_ORDER)) == ["add", "if", "case", "add"]


def test_without_names_all_ops_are_listed_and_the_root_is_one(module: ir.Operation) -> None:
    found = names(ops_in(module))
    assert len(found) == 11
    assert found[-2:] == ["func", "module"]


def test_what_is_found_can_be_erased(module: ir.Operation) -> None:
    for op in ops_in(module, "stablehlo.add"):
        op.results[0].replace_all_uses_with(op.operands[1])
        op.erase()
    assert module.verify()
    assert not ops_in(module, "stablehlo.add")


def test_blocks_come_once_each_by_their_first_op(module: ir.Operation) -> None:
    blocks = blocks_with(module, "stablehlo.add", "stablehlo.multiply", "func.return")
    assert names([terminator(block) for block in blocks]) == ["return", "return", "return"]
    assert [block.owner.operation.name for block in blocks] == ["func.func", "stablehlo.if", "stablehlo.case"]


def test_free_values_are_those_from_outside_of_the_op_whatever_the_depth(module: ir.Operation) -> None:
    (add, inner), (if_,), (case,), (multiply,) = (
        ops_in(module, f"stablehlo.{name}") for name in ("add", "if", "case", "multiply")
    )
    argument, index = add.operands[0], case.operands[0]
    assert free_values(if_) == (add.results[0], argument, index)
    assert free_values(case) == (multiply.results[0], add.results[0])
    assert free_values(inner) == ()
    assert FreeValues().of(if_) == free_values(if_)


def test_free_values_of_deep_nests_cost_one_look_at_each_op(mlir: ir.Context) -> None:
    depth = 60
    text = "func.func @main(%a: tensor<f32>, %k: tensor<i32>) -> tensor<f32> {\n"
    for level in range(depth):
        text += f'%r{level} = "stablehlo.case"(%k) ({{\n'
    text += "stablehlo.return %a : tensor<f32>\n"
    for level in reversed(range(depth)):
        text += "}) : (tensor<i32>) -> tensor<f32>\n"
        text += f"{'stablehlo.' if level else ''}return %r{level} : tensor<f32>\n"
    module = ir.Module.parse(text + "}")
    cases = ops_in(module.operation, "stablehlo.case", order=ir.WalkOrder.PRE_ORDER)
    known = FreeValues()
    assert [len(known.of(case)) for case in cases] == [2] * (depth - 1) + [1]


def test_where_a_value_comes_from_and_goes_to(module: ir.Operation) -> None:
    add, inner = ops_in(module, "stablehlo.add")
    assert definition(add.results[0]) == add
    assert definition(add.operands[0]) is None
    assert has_uses(add.results[0])
    (if_,) = ops_in(module, "stablehlo.if")
    assert has_uses(if_.results[0])
    function = function_of(inner)
    assert function is not None
    assert function.name == "func.func"
    assert function_of(function) == function
    assert function_of(module) is None
    terminator(function.regions[0].blocks[0]).erase()
    assert not has_uses(if_.results[0])
