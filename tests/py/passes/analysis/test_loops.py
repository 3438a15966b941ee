"""How often a loop turns, as far as its text says."""

from __future__ import annotations

import pathlib

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.analysis.dataflow import Instance
from hloverlap.passes.analysis.loops import executions, trip_count
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.formats.reading import read_path


def loop(
    start: str = "dense<0>", end: str = "dense<10>", by: str = "dense<1>", test: str = "LT", body: str = ""
) -> str:
    return f"""
func.func @main(%given: tensor<i32>) -> tensor<i32> {{
  %start = stablehlo.constant {start} : tensor<i32>
  %r = stablehlo.while(%i = %start) : tensor<i32>
  cond {{
    %end = stablehlo.constant {end} : tensor<i32>
    %more = stablehlo.compare {test}, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %by = stablehlo.constant {by} : tensor<i32>
    {body}
    %next = stablehlo.add %i, %by : tensor<i32>
    stablehlo.return %next : tensor<i32>
  }}
  return %r : tensor<i32>
}}"""


def parsed(text: str) -> ir.Module:
    return ir.Module.parse(text, make_context())


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (loop(), 10),
        (loop(start="dense<3>"), 7),
        (loop(by="dense<4>"), 3),
        (loop(start="dense<4>"), 6),
        (loop(by="dense<5>"), 2),
        (loop(start="dense<12>"), 0),
        (loop(by="dense<-1>"), None),
        (loop(test="NE"), None),
        (loop().replace("(%i = %start)", "(%i = %given)"), None),
        (loop().replace("add %i, %by", "multiply %i, %by"), None),
    ],
)
def test_turns(text: str, turns: int | None) -> None:
    module = parsed(text)
    (op,) = ops_in(module.operation, "stablehlo.while")
    assert trip_count(op) == turns


def carrying(handed_on: str) -> str:
    """A loop that carries its end and its step. handed_on: what the body hands on of the two."""
    return f"""
func.func @main(%given: tensor<i32>) -> tensor<i32> {{
  %start = stablehlo.constant dense<4> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %r:3 = stablehlo.while(%i = %start, %end = %ten, %by = %two) : tensor<i32>, tensor<i32>, tensor<i32>
  cond {{
    %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
    %next = stablehlo.add %i, %by : tensor<i32>
    stablehlo.return %next, {handed_on} : tensor<i32>, tensor<i32>, tensor<i32>
  }}
  return %r#0 : tensor<i32>
}}"""


@pytest.mark.parametrize(
    ("handed_on", "turns"), [("%end, %by", 3), ("%next, %by", None), ("%end, %next", None), ("%by, %end", None)]
)
def test_the_end_and_the_step_may_be_carried_as_they_are(handed_on: str, turns: int | None) -> None:
    module = parsed(carrying(handed_on))
    (op,) = ops_in(module.operation, "stablehlo.while")
    assert trip_count(op) == turns


def test_executions_are_turns_times_turns() -> None:
    inner = loop(end="dense<5>").split("{", 1)[1].rsplit("return %r", 1)[0]
    for name in ("start", "r", "i", "end", "more", "by", "next"):
        inner = (
            inner.replace(f"%{name} ", f"%{name}_ ")
            .replace(f"%{name},", f"%{name}_,")
            .replace(f"%{name})", f"%{name}_)")
        )
    module = parsed(loop(body=inner))
    found = ops_in(module.operation, "stablehlo.add")
    assert [executions(op, Instance("main")) for op in found] == [10 * 5, 10]


def test_a_call_in_a_loop_runs_as_often_as_the_loop_turns() -> None:
    text = loop(body="%c = func.call @f(%i) : (tensor<i32>) -> tensor<i32>")
    text += """
func.func private @f(%x: tensor<i32>) -> tensor<i32> {
  %y = stablehlo.negate %x : tensor<i32>
  return %y : tensor<i32>
}"""
    module = parsed(text)
    (call,), (negate,) = ops_in(module.operation, "func.call"), ops_in(module.operation, "stablehlo.negate")
    assert executions(negate, Instance("f", call, Instance("main"))) == 10


def test_loops_of_jax_say_how_often_they_turn(samples: pathlib.Path) -> None:
    for name, turns in (("ring_matmul", [7]), ("ring_attention_grad", [7, 7]), ("gpipe", [11, 11])):
        module = read_path(str(samples / f"{name}.mlir"), make_context()).module
        assert [trip_count(op) for op in ops_in(module.operation, "stablehlo.while")] == turns
