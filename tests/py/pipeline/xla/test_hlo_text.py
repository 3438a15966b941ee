"""HLO text as XLA dumps it after optimization, and what it costs."""

import pytest

from hloverlap.pipeline.xla.hlo_cost import Cost, CostModel, has_dot
from hloverlap.pipeline.xla.hlo_text import Instruction, Module, parse_module, shape_bytes, tuple_parts

TEXT = """\
HloModule jit_f, is_scheduled=true, entry_computation_layout={(bf16[64,32]{1,0})->f32[]}

%fused (p0: bf16[64,32], p1: bf16[32,16]) -> f32[64,16] {
  %p0 = bf16[64,32]{1,0} parameter(0)
  %p1 = bf16[32,16]{1,0} parameter(1)
  ROOT %dot.1 = f32[64,16]{1,0} dot(%p0, %p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

%update (q0: f32[1024,16], q1: f32[64,16], q2: s32[]) -> f32[1024,16] {
  %q0 = f32[1024,16]{1,0} parameter(0)
  %q1 = f32[64,16]{1,0} parameter(1)
  %q2 = s32[] parameter(2)
  ROOT %dus = f32[1024,16]{1,0} dynamic-update-slice(%q0, %q1, %q2, %q2)
}

%body (b: (s32[], f32[64,16])) -> (s32[], f32[64,16]) {
  %b = (s32[], f32[64,16]{1,0}) parameter(0)
  %double = f32[64,16]{1,0} add(%b#1, %b#1)
  ROOT %packed = (s32[], f32[64,16]{1,0}) tuple(%b#0, %double)
}

%condition (c: (s32[], f32[64,16])) -> pred[] {
  %c = (s32[], f32[64,16]{1,0}) parameter(0)
  ROOT %done = pred[] constant(false)
}

ENTRY %main (x: bf16[64,32], w: bf16[32,16], out: f32[1024,16], i: s32[]) -> f32[1024,16] {
  %x = bf16[64,32]{1,0} parameter(0), metadata={op_name="a, (b) = {c}"}
  %w = bf16[32,16]{1,0} parameter(1)
  %out = f32[1024,16]{1,0} parameter(2)
  %i = s32[] parameter(3)
  %gemm = f32[64,16]{1,0} fusion(%x, %w), kind=kCustom, calls=%fused, frontend_attributes={a="1,2",b="\\"}"}
  %init = (s32[], f32[64,16]{1,0}) tuple(%i, /*index=1*/%gemm)
  %loop = (s32[], f32[64,16]{1,0}) while(%init), condition=%condition, body=%body, \
backend_config={"known_trip_count":{"n":"8"}}
  %permute-start = ((bf16[64,32]{1,0}), bf16[64,32]{1,0}) async-start(%x), calls=%missing
  ROOT %slot = f32[1024,16]{1,0} fusion(%out, %gemm, %i), kind=kLoop, calls=%update
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return parse_module(TEXT)


def find(module: Module, name: str) -> Instruction:
    found = module.find(name)
    assert found is not None, name
    return found[1]


def cost(module: Module, name: str) -> Cost:
    home, instruction = module.find(name) or pytest.fail(name)
    return CostModel(module).instruction(instruction, home)


def test_instructions_keep_their_order_and_their_home(module: Module) -> None:
    assert module.entry == "main"
    names = list(module.computations["main"].instructions)
    assert names == ["x", "w", "out", "i", "gemm", "init", "loop", "permute-start", "slot"]
    assert module.computations["main"].root.name == "slot"


def test_brackets_in_strings_do_not_count(module: Module) -> None:
    assert find(module, "gemm").frontend == {"a": "1,2", "b": '\\"}'}
    assert find(module, "x").operands == ()


def test_an_operand_may_be_an_element_of_a_tuple(module: Module) -> None:
    body = module.computations["body"]
    assert find(module, "double").operands == ("b", "b")
    assert body.operand_shape(find(module, "double"), 0) == "f32[64,16]{1,0}"


def test_loops_know_their_trip_count_and_their_computations(module: Module) -> None:
    assert find(module, "loop").trip_count == 8
    assert find(module, "gemm").trip_count == 1
    assert find(module, "loop").called == ("condition", "body")


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("bf16[64,32]{1,0}", 4096),
        ("(s32[], (pred[3], f64[2]{0}), /*index=5*/c64[2])", 4 + 3 + 16 + 16),
        ("s4[3]{0:E(4)}", 2),
        ("f8e4m3fn[10]", 10),
        ("token[]", 0),
        ("f32[<=8,2]", 64),
    ],
)
def test_bytes_of_a_shape(shape: str, size: int) -> None:
    assert shape_bytes(shape) == size


def test_elements_of_a_tuple_shape() -> None:
    assert tuple_parts("((bf16[2,8]{1,0}), bf16[2,8]{1,0}, /*index=2*/s32[])") == [
        "(bf16[2,8]{1,0})",
        "bf16[2,8]{1,0}",
        "s32[]",
    ]
    assert tuple_parts("f32[2]") == ["f32[2]"]


def test_a_matmul_costs_two_operations_a_product(module: Module) -> None:
    assert cost(module, "gemm") == Cost(2 * 64 * 16 * 32, (64 * 32 + 32 * 16) * 2 + 64 * 16 * 4)
    assert has_dot(find(module, "gemm"), module)
    assert not has_dot(find(module, "slot"), module)


def test_an_update_in_place_costs_its_update_not_its_buffer(module: Module) -> None:
    assert cost(module, "slot").bytes == 2 * 64 * 16 * 4 + 4


def test_a_loop_costs_its_trips(module: Module) -> None:
    assert cost(module, "loop") == Cost(64 * 16, 3 * 64 * 16 * 4) * 8


def test_data_that_only_changes_its_name_costs_nothing(module: Module) -> None:
    assert cost(module, "init") == Cost()
    assert cost(module, "x") == Cost()
