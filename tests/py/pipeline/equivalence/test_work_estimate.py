"""How much arithmetic a module is: dots and convolutions, through calls, loops and manual computations."""

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.equivalence import work_estimate

DOT = """%d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
  : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"""
ONE_DOT = 2 * 8**3


def flops(text, partitions=1):
    return work_estimate.flops(ir.Module.parse(text, make_context()), partitions)


def test_a_function_counts_as_often_as_it_is_called():
    assert (
        flops(f"""module {{
      func.func @main(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {{
        %0 = func.call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
        %1 = func.call @f(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
        return %1 : tensor<8x8xf32>
      }}
      func.func private @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {{ {DOT} return %d : tensor<8x8xf32> }}
    }}""")
        == ONE_DOT * 2
    )


def loop(bound, start=0, end=5, step=1):
    return f"""module {{ func.func @main(%x: tensor<8x8xf32>, %n: tensor<i32>) -> tensor<8x8xf32> {{
      %zero = stablehlo.constant dense<{start}> : tensor<i32>
      %r:3 = stablehlo.while(%i = %zero, %a = %x, %m = %n) : tensor<i32>, tensor<8x8xf32>, tensor<i32>
        cond {{
          %end = stablehlo.constant dense<{end}> : tensor<i32>
          %c = stablehlo.compare LT, %i, {bound}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{
          {DOT}
          %step = stablehlo.constant dense<{step}> : tensor<i32>
          %next = stablehlo.add %i, %step : tensor<i32>
          stablehlo.return %next, %d, %m : tensor<i32>, tensor<8x8xf32>, tensor<i32>
        }}
      return %r#1 : tensor<8x8xf32>
    }} }}"""


@pytest.mark.parametrize(("numbers", "turns"), [((0, 5, 1), 5), ((0, 10, 5), 2), ((4, 10, 1), 6), ((9, 3, 1), 0)])
def test_a_loop_counts_as_often_as_it_turns(numbers, turns):
    assert flops(loop("%end", *numbers)) == turns * ONE_DOT


def test_a_loop_of_unknown_bound_counts_once():
    assert flops(loop("%m")) == ONE_DOT


def test_shapes_in_a_manual_computation_are_those_of_one_device():
    assert (
        flops(
            f"""module {{
      sdy.mesh @mesh = <["x"=4]>
      func.func @main(%w: tensor<32x8xf32>) -> tensor<32x8xf32> {{
        %0 = sdy.manual_computation(%w) in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>]
            manual_axes={{"x"}} (%a: tensor<8x8xf32>) {{
          {DOT}
          sdy.return %d : tensor<8x8xf32>
        }} : (tensor<32x8xf32>) -> tensor<32x8xf32>
        return %0 : tensor<32x8xf32>
      }}
    }}""",
            partitions=4,
        )
        == 4 * ONE_DOT
    )


def test_a_convolution_counts_the_kernel_for_each_result():
    assert flops("""module {
      func.func @main(%a: tensor<1x8x8x2xf32>, %k: tensor<3x3x2x4xf32>) -> tensor<1x6x6x4xf32> {
        %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {stride = [1, 1], pad = [[0, 0], [0, 0]]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x6x6x4xf32>
        return %0 : tensor<1x6x6x4xf32>
      }
    }""") == 2 * (1 * 6 * 6 * 4) * (3 * 3 * 2)


def test_there_is_some_memory():
    assert 2**20 < work_estimate.available_memory() < 2**50
