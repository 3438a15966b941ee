"""What a module promises to its caller, its user and XLA, each pass keeps. docs/promises.md says it in words."""

from __future__ import annotations

import re

import pytest
from jaxlib.mlir import ir

from hloverlap.passes import registry
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.frontend_attributes import as_text
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline import run
from hloverlap.pipeline.equivalence import structure
from hloverlap.pipeline.execution.running import Result
from support import permutes
from support.machines import EAGER
from support.small_modules import BACKWARD, FORWARD

PIPELINES = (
    *registry.BUILTIN,
    *registry.PIPELINES,
    "merge-cross-host-transfers{strategy=group scope=all}",
    "merge-cross-host-transfers{strategy=concat scope=all}",
)

# What a pass says when it sends other data for the same results.
_SENDS_OTHERWISE = ("CMP001", "HSP001", "JPP001", "LSR001", "SPH001")


def permute(result: str, operand: str, pairs: list[list[int]], line: int, attributes: str = "") -> str:
    return permutes.permute(
        result, operand, pairs, "tensor<4xf32>", attributes=attributes, location=f'loc("model.py":{line}:1)'
    )


USER = '{mhlo.frontend_attributes = {_xla_stream_annotation = "7", combiner_key = "mine", theirs = "kept"}}'

# Transfers that could be merged, moved or annotated stand beside everything that must stay where and as it is.
RICH = f"""module @rich attributes {{
    mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32, jax.uses_shape_polymorphism = false}} {{
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(
      %a: tensor<16xf32> {{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}},
      %b: tensor<16xf32> {{tf.aliasing_output = 1 : i32, mhlo.sharding = "{{devices=[4]<=[4]}}"}},
      %t: !stablehlo.token {{jax.token = true}})
      -> (tensor<16xf32> {{jax.result_info = "x", sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}},
          tensor<16xf32>, !stablehlo.token {{jax.token = true}}) {{
    %m:3 = sdy.manual_computation(%a, %b, %t) in_shardings=[<@mesh, [{{"x"}}]>, <@mesh, [{{"x"}}]>, <@mesh, []>]
        out_shardings=[<@mesh, [{{"x"}}]>, <@mesh, [{{"x"}}]>, <@mesh, []>] manual_axes={{"x"}}
        (%x: tensor<4xf32>, %y: tensor<4xf32>, %k: !stablehlo.token) {{
      {permute("%0", "%x", FORWARD, 101)}
      {permute("%1", "%y", BACKWARD, 102)}
      {permute("%2", "%y", FORWARD, 103, USER)}
      {permute("%3", "%x", BACKWARD, 104, "{foreign.note = [1, 2]}")}
      %k1:2 = stablehlo.custom_call @effect(%0, %k) {{has_side_effect = true, foreign.mark}}
          : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
      {permute("%4", "%x", FORWARD, 105)}
      {permute("%5", "%y", BACKWARD, 106)}
      %6:2 = stablehlo.optimization_barrier %4, %5 : tensor<4xf32>, tensor<4xf32>
      {permute("%7", "%x", FORWARD, 107)}
      {permute("%8", "%y", BACKWARD, 108)}
      %k2 = stablehlo.after_all %k1#1, %k : !stablehlo.token
      {permute("%9", "%8", FORWARD, 109)}
      %s0 = stablehlo.add %k1#0, %1 : tensor<4xf32>
      %s1 = stablehlo.add %2, %3 : tensor<4xf32>
      %s2 = stablehlo.add %6#0, %6#1 : tensor<4xf32>
      %s3 = stablehlo.add %7, %9 : tensor<4xf32>
      %s4 = stablehlo.add %s0, %s1 : tensor<4xf32>
      %s5 = stablehlo.add %s2, %s3 : tensor<4xf32>
      sdy.return %s4, %s5, %k2 : tensor<4xf32>, tensor<4xf32>, !stablehlo.token
    }} : (tensor<16xf32>, tensor<16xf32>, !stablehlo.token) -> (tensor<16xf32>, tensor<16xf32>, !stablehlo.token)
    return %m#0, %m#1, %m#2 : tensor<16xf32>, tensor<16xf32>, !stablehlo.token
  }}
}}
"""


@pytest.fixture(scope="module")
def before() -> ir.Module:
    return ir.Module.parse(RICH, make_context())


@pytest.fixture(scope="module", params=PIPELINES)
def after(request: pytest.FixtureRequest, before: ir.Module) -> Result:
    return run(before, request.param, topology="2x2", target=EAGER)


def asm(module: ir.Module) -> str:
    return str(module.operation.get_asm(enable_debug_info=True))


def main_of(module: ir.Module) -> ir.Operation:
    (found,) = (op.operation for op in module.body if "main" in str(op.operation.attributes.get("sym_name", "")))
    return found


def test_the_module_names_its_devices_and_keeps_its_attributes(before: ir.Module, after: Result) -> None:
    assert as_text(after.module.operation) == as_text(before.operation)
    assert len(as_text(before.operation)) == 4


@pytest.mark.parametrize("attribute", ["function_type", "arg_attrs", "res_attrs"])
def test_donation_aliasing_and_sharding_of_main_are_kept(before: ir.Module, after: Result, attribute: str) -> None:
    assert str(main_of(after.module).attributes[attribute]) == str(main_of(before).attributes[attribute])


def test_tokens_barriers_and_effects_stay_in_order_with_the_same_transfers_between_them(
    before: ir.Module, after: Result
) -> None:
    one, other = structure.Structure.of(before), structure.Structure.of(after.module)
    assert other.ordered == one.ordered
    assert len(one.ordered) == 3
    if not any(code in {remark.code for remark in after.remarks} for code in _SENDS_OTHERWISE):
        assert structure.first_difference(before, after.module) == ""


def test_attributes_of_others_are_kept(before: ir.Module, after: Result) -> None:
    for note in ("foreign.note = [1, 2]", "foreign.mark", 'theirs = "kept"'):
        assert asm(after.module).count(note) == asm(before).count(note) == 1


def test_the_users_own_annotation_is_kept(after: Result) -> None:
    assert '_xla_stream_annotation = "7"' in asm(after.module)
    assert 'combiner_key = "mine"' in asm(after.module)


def test_every_line_of_the_users_program_is_still_named(before: ir.Module, after: Result) -> None:
    lines = set(re.findall(r'"model.py":(\d+)', asm(before)))
    assert set(re.findall(r'"model.py":(\d+)', asm(after.module))) == lines


def test_the_module_given_is_not_changed(before: ir.Module, after: Result) -> None:
    assert str(before) == str(ir.Module.parse(RICH, before.context))


def test_shardings_inside_are_kept(before: ir.Module, after: Result) -> None:
    (one,), (other,) = (ops_in(module.operation, "sdy.manual_computation") for module in (before, after.module))
    assert as_text(other) == as_text(one)
    assert len(ops_in(after.module.operation, "sdy.mesh")) == 1
