"""Which matmuls XLA would merge to no good, and what is asked for then; test_audit says what XLA makes of it."""

from __future__ import annotations

from hloverlap.passes.machine.xla_options import DOT_MERGER
from hloverlap.pipeline.execution import running
from support.small_modules import BACKWARD, FORWARD, module, permute

MATRIX = "tensor<8x8xf32>"


def asked(*lines: str) -> tuple[bool, list[str]]:
    """Whether the merger is asked to be off, and the remarks' codes, for a function of the matrices %a0 to %a3."""
    given = ", ".join(f"%a{n}: {MATRIX}" for n in range(4))
    last = lines[-1].split(" ", 1)[0]
    body = "\n".join([*lines, f"return {last} : {MATRIX}"])
    text = module(f"func.func public @main({given}) -> {MATRIX} {{\n{body}\n}}")
    result = running.run(text.encode(), "keep-dots-apart")
    assert not result.changed
    codes = [remark.code for remark in result.remarks]
    assert ("KDA001" in codes) == (DOT_MERGER in result.compile_options)
    return result.compile_options.get(DOT_MERGER) == 0, codes


def send(result: str, operand: str, forward: bool = True) -> str:
    return permute(result, operand, FORWARD if forward else BACKWARD, MATRIX)


def dot(result: str, left: str, right: str, contracting: str = "[1] x [0]") -> str:
    types = f"({MATRIX}, {MATRIX}) -> {MATRIX}"
    return f"{result} = stablehlo.dot_general {left}, {right}, contracting_dims = {contracting} : {types}"


def add(result: str, left: str, right: str) -> str:
    return f"{result} = stablehlo.add {left}, {right} : {MATRIX}"


def test_a_matmul_that_could_hide_what_another_waits_for() -> None:
    assert asked(send("%x", "%a0"), dot("%0", "%a0", "%a1"), dot("%1", "%x", "%a1"), add("%2", "%0", "%1")) == (
        True,
        ["KDA001"],
    )


def test_a_ring_of_two_directions_meets_the_weight_twice_a_step() -> None:
    lines = [
        *(send("%f", "%a0"), send("%b", "%a2", forward=False)),
        *(dot("%0", "%a0", "%a1"), dot("%1", "%a2", "%a1"), dot("%2", "%f", "%a1"), dot("%3", "%b", "%a1")),
        *(add("%4", "%0", "%1"), add("%5", "%2", "%3"), add("%6", "%4", "%5")),
    ]
    assert asked(*lines) == (True, ["KDA001"])


def test_the_other_side_may_be_what_they_share() -> None:
    assert asked(send("%x", "%a0"), dot("%0", "%a1", "%a0"), dot("%1", "%a1", "%x"), add("%2", "%0", "%1"))[0]


def test_matmuls_that_are_ready_together_may_be_merged() -> None:
    assert asked(send("%x", "%a0"), dot("%0", "%x", "%a1"), dot("%1", "%x", "%a2"), add("%2", "%0", "%1")) == (
        False,
        [],
    )


def test_one_option_for_all_is_not_asked_for_at_the_cost_of_others() -> None:
    ring = send("%x", "%a0"), dot("%0", "%a0", "%a1"), dot("%1", "%x", "%a1"), add("%2", "%0", "%1")
    others = dot("%3", "%a2", "%a3"), dot("%4", "%a2", "%a2"), add("%5", "%3", "%4"), add("%6", "%2", "%5")
    assert asked(*ring, *others) == (False, ["KDA002"])


def test_what_needs_another_is_not_merged_with_it() -> None:
    lines = dot("%0", "%a0", "%a1"), send("%x", "%0"), dot("%1", "%x", "%a1"), add("%2", "%0", "%1")
    assert asked(*lines) == (False, [])


def test_what_contracts_otherwise_is_not_merged() -> None:
    lines = send("%x", "%a0"), dot("%0", "%a0", "%a1"), dot("%1", "%x", "%a1", "[1] x [1]"), add("%2", "%0", "%1")
    assert asked(*lines) == (False, [])
