"""Modules on StableHLO's interpreter: collectives by their definition, every dtype bit for bit, and deadlocks seen."""

from __future__ import annotations

import numpy as np
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.equivalence import inputs
from hloverlap.pipeline.equivalence.entry import Entry, NotRunnableError
from hloverlap.pipeline.equivalence.interpreter import op_eval
from hloverlap.pipeline.equivalence.interpreter.interpreter import Interpreter
from hloverlap.pipeline.equivalence.interpreter.program import InterpretedProgram
from support.small_modules import BACKWARD, FORWARD, function, module, permute

TYPES = (
    "i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "i4", "ui4", "i2", "ui2", "f16", "bf16", "f32",
    "f64", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "complex<f32>", "complex<f64>",
)  # fmt: skip


def numbers(text: str, *arguments: list[list[float]]) -> list[list[list[float]]]:
    """Results [process][result] of main on f32 vectors; each argument is given as one vector a process."""
    parsed = ir.Module.parse(text, make_context())
    program = Interpreter(parsed)
    vector = parsed.context
    made = []
    for process in range(len(program.grid.processes)):
        values = []
        for argument in arguments:
            array = np.array(argument[process], np.float32)
            type_ = ir.Type.parse(f"tensor<{array.size}xf32>", vector)
            values.append(op_eval.from_array(array, type_))
        made.append(values)
    results = program.run(made)
    return [[list(ir.DenseFPElementsAttr(value)) for value in values] for values in results]


def on_four(*lines: str, returned: str = "%0", size: int = 2) -> str:
    """A module of main(%a0) for four partitions."""
    text = module(function("main", 1, list(lines), [returned]))
    return text.replace("tensor<8xf32>", f"tensor<{size}xf32>")


EACH = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]


def collective(name: str, attributes: str, body: bool = False, result: int = 2) -> str:
    region = (
        "({ ^bb0(%l: tensor<f32>, %r: tensor<f32>): %s = stablehlo.add %l, %r : tensor<f32>\n"
        "stablehlo.return %s : tensor<f32> })"
    )
    return (
        f'%0 = "stablehlo.{name}"(%a0) <{{{attributes}, channel_handle = '
        f"#stablehlo.channel_handle<handle = 1, type = 1>}}> {region if body else ''} : "
        f"(tensor<2xf32>) -> tensor<{result}xf32>"
    )


GLOBAL = "use_global_device_ids"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (permute("%0", "%a0", FORWARD, "tensor<2xf32>"), [EACH[3], EACH[0], EACH[1], EACH[2]]),
        (permute("%0", "%a0", BACKWARD, "tensor<2xf32>"), [EACH[1], EACH[2], EACH[3], EACH[0]]),
        (permute("%0", "%a0", [(2, 0)], "tensor<2xf32>"), [EACH[2], [0, 0], [0, 0], [0, 0]]),
        (permute("%0", "%a0", [(1, 1)], "tensor<2xf32>"), [[0, 0], EACH[1], [0, 0], [0, 0]]),
        (
            collective(
                "all_reduce", f"replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, {GLOBAL}", body=True
            ),
            [[3, 30], [3, 30], [7, 70], [7, 70]],
        ),
        (
            collective(
                "all_gather",
                f"all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0], [2, 3]]> : tensor<2x2xi64>, {GLOBAL}",
                result=4,
            ),
            [[2, 20, 1, 10], [2, 20, 1, 10], [3, 30, 4, 40], [3, 30, 4, 40]],
        ),
        (
            collective(
                "reduce_scatter",
                f"scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, {GLOBAL}",
                body=True,
                result=1,
            ),
            [[3], [30], [7], [70]],
        ),
        (
            collective(
                "all_to_all",
                "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, "
                "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>",
            ),
            [[1, 2], [10, 20], [3, 4], [30, 40]],
        ),
        (
            collective("collective_broadcast", "replica_groups = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>"),
            [EACH[1], EACH[1], EACH[3], EACH[3]],
        ),
    ],
)
def test_collectives_by_their_definition(line: str, expected: list[list[float]]) -> None:
    size = len(expected[0])
    text = on_four(line, size=2).replace("(tensor<2xf32>) {", f"(tensor<{size}xf32>) {{")
    text = text.replace("return %0 : tensor<2xf32>", f"return %0 : tensor<{size}xf32>")
    assert [results[0] for results in numbers(text, EACH)] == expected


def test_a_channel_may_be_used_again_and_again() -> None:
    lines = [permute("%0", "%a0", FORWARD, "tensor<2xf32>"), permute("%1", "%0", FORWARD, "tensor<2xf32>")]
    assert [results[0] for results in numbers(on_four(*lines, returned="%1"), EACH)] == [*EACH[2:], *EACH[:2]]


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 2)])
def test_every_bit_of_every_dtype_goes_in_and_comes_out(element: str, shape: tuple[int, ...]) -> None:
    type_ = f"tensor<{'x'.join([*map(str, shape), element])}>"
    parsed = ir.Module.parse(
        f"func.func public @main(%a: {type_}) -> {type_} {{ return %a : {type_} }}", make_context()
    )
    entry = Entry.of(parsed)
    ((found,),) = InterpretedProgram(parsed, entry).run("special", 3)
    wanted = inputs.random_array(shape, entry.parameters[0].dtype, "special", (3, 0, 0))
    assert found.dtype == wanted.dtype
    assert np.array_equal(inputs.bit_patterns(found), inputs.bit_patterns(wanted))


def test_a_deadlock_is_seen() -> None:
    text = on_four(
        "%p = stablehlo.partition_id : tensor<ui32>",
        "%i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>",
        '%0 = "stablehlo.case"(%i) ({',
        permute("%b", "%a0", FORWARD, "tensor<2xf32>"),
        "stablehlo.return %b : tensor<2xf32> }, { stablehlo.return %a0 : tensor<2xf32> }) "
        ": (tensor<i32>) -> tensor<2xf32>",
    )
    said = r"waits for ever: device 0 in the collective_permute of line \d+, devices 1, 2 and 3 at their end"
    with pytest.raises(NotRunnableError, match=said):
        numbers(text, EACH)


def test_a_loop_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hloverlap.pipeline.equivalence.interpreter.interpreter.MOST_STEPS", 100)
    text = on_four(
        "%0 = stablehlo.while(%v = %a0) : tensor<2xf32>",
        "cond { %t = stablehlo.constant dense<true> : tensor<i1>\n stablehlo.return %t : tensor<i1> }",
        "do { %w = stablehlo.add %v, %v : tensor<2xf32>\n stablehlo.return %w : tensor<2xf32> }",
    )
    with pytest.raises(NotRunnableError, match="it is not over after 100 steps"):
        numbers(text, EACH)


def test_a_custom_call_is_refused() -> None:
    text = on_four("%0 = stablehlo.custom_call @gpu(%a0) : (tensor<2xf32>) -> tensor<2xf32>")
    with pytest.raises(NotRunnableError, match="knows nothing of custom call"):
        numbers(text, EACH)
