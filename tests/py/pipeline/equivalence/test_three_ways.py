"""`checking.check` says the same of two modules whichever way they are run."""

from __future__ import annotations

import pathlib

import pytest

from hloverlap.pipeline import run
from hloverlap.pipeline.equivalence.checking import Way, check
from support.small_modules import BACKWARD, FORWARD, TYPE, function, module, permute

WAYS: tuple[Way, ...] = ("cpu", "interpreter", "processes")


def ring(pairs: list[list[int]], after: str = "") -> bytes:
    """Four replicas each send a block on, in replica mode, so that each has data of its own."""
    text = module(
        function("main", 1, [permute("%0", "%a0", pairs), after or f"%1 = stablehlo.negate %0 : {TYPE}"], ["%1"])
    )
    text = text.replace(", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>", "")
    return text.replace("num_partitions = 4", "num_partitions = 1").replace("replicas = 1", "replicas = 4").encode()


@pytest.mark.parametrize("way", WAYS)
def test_a_rewritten_module_is_equal(way: Way, samples: pathlib.Path) -> None:
    before = (samples / "small_transfers.mlir").read_bytes()
    result = run(before, "merge-cross-host-transfers{strategy=concat scope=all}")
    assert result.changed
    found = check(before, str(result.module).encode(), way=way)
    assert (found.status, found.runs) == ("equal", 3), found


@pytest.mark.parametrize("way", WAYS)
def test_other_pairs_are_a_difference(way: Way) -> None:
    found = check(ring(FORWARD), ring(BACKWARD), way=way)
    assert found.status == "different"
    assert "result 0 on device 0 differs at [0]" in found.reason


@pytest.mark.parametrize("way", WAYS)
def test_another_sign_of_zero_is_a_difference(way: Way) -> None:
    zeros = f"%z = stablehlo.constant dense<0.0> : {TYPE}\n%m = stablehlo.multiply %0, %z : {TYPE}\n"
    one = ring(FORWARD, zeros + f"%1 = stablehlo.negate %m : {TYPE}")
    other = ring(FORWARD, zeros + f"%1 = stablehlo.subtract %z, %m : {TYPE}")
    assert check(one, other, way=way).status == "different"
    assert check(one, one, way=way).status == "equal"


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_run_is_compared_by_structure(way: Way) -> None:
    opaque = f"%1 = stablehlo.custom_call @only_a_gpu_knows(%0) : ({TYPE}) -> {TYPE}"
    same = check(ring(FORWARD, opaque), ring(FORWARD, opaque), way=way)
    assert (same.status, same.structure) == ("not-run", "")
    other = check(ring(FORWARD, opaque), ring(BACKWARD, opaque), way=way)
    assert other.status == "not-run"
    assert other.structure
    assert "collective_permute over 0->1" in other.structure


def test_a_module_too_large_for_the_interpreter_is_not_run(samples: pathlib.Path) -> None:
    large = (samples / "moe_shifts.mlir").read_bytes()
    found = check(large, large, way="interpreter", time_limit=20)
    assert found.status == "not-run"
    assert "too much for a limit of 20 s" in found.reason


def test_devices_that_cannot_be_spread_are_told() -> None:
    found = check(ring(FORWARD), ring(FORWARD), way="processes", processes=3)
    assert (found.status, found.reason) == ("not-run", "4 devices cannot be spread evenly over 3 processes")
