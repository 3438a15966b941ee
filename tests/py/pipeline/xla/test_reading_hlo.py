"""Replica groups, source lines and matmul types, from XLA's text."""

from __future__ import annotations

import pytest

from hloverlap.pipeline.xla.hlo_cost import dot_type
from hloverlap.pipeline.xla.hlo_places import Places
from hloverlap.pipeline.xla.hlo_text import parse_module
from hloverlap.pipeline.xla.replica_groups import device_groups


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{{0,1},{2,3}}", ((0, 1), (2, 3))),
        ("{}", ()),
        ("[2,2]<=[4]", ((0, 1), (2, 3))),
        ("[2,4]<=[4,2]T(1,0)", ((0, 2, 4, 6), (1, 3, 5, 7))),
        ("[4,2]<=[2,2,2]T(0,2,1)", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("", ()),
    ],
)
def test_groups_are_read_as_lists_and_as_iota(text: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert device_groups(text) == groups


TABLES = """\
HloModule jit_f, is_scheduled=true

FileNames
1 "/home/me/model.py"
2 "/home/me/layer.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=4 end_column=9}
2 {file_name_id=2 function_name_id=1 line=34 end_line=36 column=4 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%fused (p: bf16[8,8]) -> f32[8,8] {
  %p = bf16[8,8]{1,0} parameter(0)
  ROOT %dot = f32[8,8]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main (a: bf16[8,8]) -> f32[8,8] {
  %a = bf16[8,8]{1,0} parameter(0), metadata={op_name="a"}
  %b = bf16[8,8]{1,0} add(%a, %a), metadata={op_name="add" source_file="old.py" source_line=7}
  ROOT %c = f32[8,8]{1,0} fusion(%b), kind=kCustom, calls=%fused, metadata={op_name="dot" stack_frame_id=2}
}
"""


def test_source_lines_are_beside_an_instruction_or_in_tables() -> None:
    module, places = parse_module(TABLES), Places(TABLES)
    found = {name: places.of(each) for name, each in module.computations["main"].instructions.items()}
    assert found == {"a": "a", "b": "old.py:7", "c": "/home/me/layer.py:34"}


def test_a_matmul_in_a_fusion_says_what_it_multiplies() -> None:
    module = parse_module(TABLES)
    main = module.computations["main"]
    types = {name: dot_type(each, main, module) for name, each in main.instructions.items()}
    assert types == {"a": "", "b": "", "c": "bf16"}
