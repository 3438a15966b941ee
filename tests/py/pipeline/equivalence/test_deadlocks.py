"""Programs that wait for ever by themselves, or once they are rewritten: a check says so soon, and where."""

from __future__ import annotations

import json
import pathlib
import time

import pytest

from hloverlap.pipeline.equivalence import check_processes, deadlock, deadlock_child, waits
from hloverlap.pipeline.equivalence.checking import Way, check
from support.small_modules import FORWARD, function, module, permute

HALF = "tensor<2xf32>"
SUM = (
    '%s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,'
    " channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({"
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>): %t = stablehlo.add %a, %b : tensor<f32>"
    f" stablehlo.return %t : tensor<f32> }}) : ({HALF}) -> {HALF}"
)
SHIFT = permute("%p", "%x", FORWARD, HALF)


def on_each_device(*lines: str) -> bytes:
    """A module whose main has four devices compute %r of their half %x; line 6 is the first one."""
    manual = (
        '%0 = sdy.manual_computation(%a0) in_shardings=[<@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}]>]'
        f' manual_axes={{"d"}} (%x: {HALF}) {{\n%i = stablehlo.partition_id : tensor<ui32>'
    )
    end = f"sdy.return %r : {HALF} }} : (tensor<8xf32>) -> tensor<8xf32>"
    return module('sdy.mesh @mesh = <["d"=4]>', function("main", 1, [manual, *lines, end], ["%0"])).encode()


BOTH = on_each_device(SUM, SHIFT, f"%r = stablehlo.add %s, %p : {HALF}")
BRANCHES = on_each_device(
    "%c = stablehlo.constant dense<2> : tensor<ui32>",
    "%q = stablehlo.compare LT, %i, %c : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
    '%r = "stablehlo.if"(%q) ({',
    SUM,
    f"stablehlo.return %s : {HALF} }}, {{",
    SHIFT,
    f"stablehlo.return %p : {HALF} }}) : (tensor<i1>) -> {HALF}",
)
IN_BRANCHES = "in the all_reduce of line 9, {} in the collective_permute of line 11"


def rounds(spread: int) -> bytes:
    """A ring shift in a loop with a round more on every `spread` devices."""
    return on_each_device(
        f"%c = stablehlo.constant dense<{spread}> : tensor<ui32>",
        "%n = stablehlo.divide %i, %c : tensor<ui32>",
        "%z = stablehlo.constant dense<0> : tensor<ui32>",
        "%o = stablehlo.constant dense<1> : tensor<ui32>",
        f"%r, %j = stablehlo.while(%v = %x, %k = %z) : {HALF}, tensor<ui32>",
        "cond { %q = stablehlo.compare LT, %k, %n : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
        "stablehlo.return %q : tensor<i1> } do {",
        permute("%p", "%v", FORWARD, HALF),
        "%m = stablehlo.add %k, %o : tensor<ui32>",
        f"stablehlo.return %p, %m : {HALF}, tensor<ui32> }}",
    )


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlock, "SILENCE", 0.5)


@pytest.mark.parametrize(
    ("way", "before", "where"),
    [
        ("cpu", BRANCHES, "devices 0 and 1 " + IN_BRANCHES.format("devices 2 and 3")),
        ("processes", BRANCHES, "process 0 " + IN_BRANCHES.format("process 1")),
        ("processes", rounds(2), "process 0 at its end, process 1 in the collective_permute of line 13"),
    ],
)
def test_a_program_that_waits_by_itself_is_not_run(way: Way, before: bytes, where: str) -> None:
    began = time.monotonic()
    found = check(before, before, way=way)
    wanted = f"on ordinary inputs, seed 0, the program itself waits for ever: {where}; the rewritten one waits, too"
    assert (found.status, found.reason, found.structure) == ("not-run", wanted, "")
    assert time.monotonic() - began < 60


def test_a_loop_of_the_same_rounds_everywhere_is_equal() -> None:
    assert check(rounds(4), rounds(4), way="processes").runs == 3


def test_a_mended_program_is_told_from_one_that_waits() -> None:
    assert check(BRANCHES, BOTH, way="cpu").reason.endswith("; the rewritten one comes to its end")


@pytest.mark.parametrize("way", ["cpu", "processes"])
def test_a_rewrite_that_waits_is_different(way: Way) -> None:
    found = check(BOTH, BRANCHES, way=way)
    assert found.status == "different"
    assert "the original comes to its end, the rewritten module waits for ever: " in found.reason


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        (BOTH, {}),
        (BRANCHES, {0: "line 9", 1: "line 9", 2: "line 11", 3: "line 11"}),
        (rounds(1), {0: "", 1: "line 13", 2: "line 13", 3: "line 13"}),
        (on_each_device(f"%r = stablehlo.custom_call @gpu(%x) : ({HALF}) -> {HALF}"), None),
        (module(function("main", 1, [], ["%a0"])).encode(), None),  # XLA partitions it: it is not one device's program
    ],
)
def test_the_interpreter_says_who_waits(text: bytes, waiting: dict[int, str] | None, tmp_path: pathlib.Path) -> None:
    (tmp_path / "before").write_bytes(text)
    found = deadlock_child.waits(tmp_path / "before", "ordinary", 0)
    places = None if found is None else {device: place.rpartition(" of ")[2] for device, place in found.items()}
    assert places == waiting


def test_waits_in_words() -> None:
    assert waits.in_words({0: "a", 1: "b", 2: "a", 3: "a", 4: ""}, "process") == (
        "processes 0, 2 and 3 in a, process 1 in b, process 4 at its end"
    )
    assert waits.in_words(dict.fromkeys(range(20), ""), "device") == (
        "devices 0, 1, 2, 3, 4, 5, 6 and 13 more at their end"
    )
    assert waits.of_units({0: "a", 1: "b", 2: "", 3: "a", 4: "", 5: ""}, 2) == {0: "a and b", 1: "a", 2: ""}


def test_the_process_that_has_come_least_far_says_what_runs(tmp_path: pathlib.Path) -> None:
    """A process whose devices are done with a run goes on, while others wait in it."""
    outputs = [tmp_path / "0", tmp_path / "1"]
    said = [{"stage": "the original"}, {"stage": "the rewritten one"}, {"status": "equal"}]
    for output, count in zip(outputs, (3, 1), strict=True):
        output.write_text("".join(json.dumps(line) + "\n" for line in said[:count]), encoding="utf-8")
    assert check_processes._slowest_stage(outputs)["stage"] == "the original"
