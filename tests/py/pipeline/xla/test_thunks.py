"""Thunk dumps of both supported jaxlibs come out as the same tree."""

import pytest

from hloverlap.pipeline.xla.hlo_text import parse_module
from hloverlap.pipeline.xla.thunks import MAIN_STREAM, Thunk, parse_thunks, schedule_as_thunks

# The older jaxlib numbers an async body before its start, the newer one after it.
OLDER = """\
001: kCopy         [source       | next=003 (1)] kCopy
003: kAsyncStart   [prev=001 (1) | next=005 (2)] stream=communication_stream[3], async_id=3
    002: kCollectivePermute [source | sink] kCollectivePermute
004: kAsyncDone    [source       | sink        ] async_id=3
005: kWhile        [prev=003 (1) | sink        ]   
condition:
    006: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1] threads: [1, 1, 1]
  body:
    007: kCopy         [source       | next=008 (1)] kCopy
    008: kWhile        [prev=007 (1) | sink        ]       
condition:
        009: kCustomKernel [source | sink] loop_compare_fusion
      body:
        010: kCollectivePermute [source | sink] kCollectivePermute
    011: kCopy         [source       | sink        ] kCopy
012: kConditional  [source       | sink        ]   
  false_branch:
    013: kCopy [source | sink] kCopy
  true_branch:
    014: kCustomKernel [source | sink] fusion
"""
NEWER = OLDER.replace("003: kAsyncStart ", "002: kAsyncStart ").replace("async_id=3", "async_id=2")
NEWER = NEWER.replace("    002: kCollectivePermute", "    003: kCollectivePermute")

METADATA = """\
thunk_metadata {
  thunk_info {
    profile_annotation: "command_buffer_1"
  }
  thunk_kind: "kCommandBuffer"
}
thunk_metadata {
  thunk_info {
    profile_annotation: "collective-permute.7"
    thunk_id: 10
  }
  thunk_kind: "kCollectivePermute"
}
"""


def shape(thunks: list[Thunk]) -> list[object]:
    """Kinds, with what lies inside."""
    return [
        (thunk.kind, [(label, shape(region)) for label, region in thunk.regions]) if thunk.regions else thunk.kind
        for thunk in thunks
    ]


@pytest.mark.parametrize("sequence", [OLDER, NEWER], ids=["older", "newer"])
def test_nesting_is_read_from_the_indentation(sequence: str) -> None:
    inner = ("kWhile", [("condition", ["kCustomKernel"]), ("body", ["kCollectivePermute"])])
    assert shape(parse_thunks(sequence, METADATA)) == [
        "kCopy",
        ("kAsyncStart", [("", ["kCollectivePermute"])]),
        "kAsyncDone",
        ("kWhile", [("condition", ["kCustomKernel"]), ("body", ["kCopy", inner, "kCopy"])]),
        ("kConditional", [("false_branch", ["kCopy"]), ("true_branch", ["kCustomKernel"])]),
    ]


@pytest.mark.parametrize("sequence", [OLDER, NEWER], ids=["older", "newer"])
def test_an_async_start_names_its_stream_and_its_done(sequence: str) -> None:
    copy, start, done = parse_thunks(sequence, METADATA)[:3]
    assert (start.stream, copy.stream, done.stream) == ("communication_stream[3]", MAIN_STREAM, MAIN_STREAM)
    assert start.async_id is not None
    assert start.async_id == done.async_id


def test_a_thunk_knows_its_instruction() -> None:
    found = {inner.id: inner.instruction for thunk in parse_thunks(OLDER, METADATA) for inner in thunk.walk()}
    assert found[10] == "collective-permute.7"
    assert found[1] == ""


def test_a_start_without_thunks_is_kept() -> None:
    text = "001: kAsyncStart [source | sink] stream=computation_stream[3], async_id=1\n    No thunks.\n"
    assert shape(parse_thunks(text, "")) == ["kAsyncStart"]


def test_a_backend_without_thunks_runs_its_schedule_in_turn() -> None:
    module = parse_module(
        """\
HloModule m, is_scheduled=true

%body (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %permute = f32[4]{0} collective-permute(%p), source_target_pairs={{0,1},{1,0}}
}

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  ROOT %loop = f32[4]{0} while(%a), condition=%missing, body=%body
}
"""
    )
    loop = schedule_as_thunks(module)[-1]
    assert shape([loop]) == [("kWhile", [("body", ["kParameter", "kCollectivePermute"])])]
    assert {thunk.stream for thunk in loop.walk()} == {MAIN_STREAM}
