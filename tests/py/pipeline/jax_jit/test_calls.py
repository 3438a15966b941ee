"""Once a function is compiled, calls are jit's own: no Python of ours, and no time."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
import numpy as np
import pytest

from hloverlap import pipeline

CALLS, ROUNDS = 20, 1000


def new_step() -> Callable[..., Any]:
    """As little as a call can do, since dispatch is what is measured; a new function has nothing in jit's caches."""

    def step(tree: dict[str, jax.Array], x: jax.Array) -> dict[str, jax.Array]:
        return {name: leaf + x for name, leaf in tree.items()}

    return step


@pytest.fixture
def arguments() -> tuple[dict[str, jax.Array], jax.Array]:
    x = jax.device_put(np.ones(4, np.float32), jax.devices()[0])
    return {"a": x, "b": x}, x


def frames_of(call: Callable[[], Any]) -> list[str]:
    """Files of the Python functions that a call enters."""
    seen: list[str] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_filename)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_a_call_enters_no_python(arguments: Any) -> None:
    jitted = pipeline.jit(new_step())
    jitted(*arguments)
    jitted(*arguments)
    assert frames_of(lambda: jitted(*arguments)) == [__file__]  # the lambda


def test_nor_does_a_call_of_any_jit_in_a_block(arguments: Any) -> None:
    jitted = jax.jit(new_step())
    with pipeline.enabled():
        jitted(*arguments)
        jitted(*arguments)
        assert frames_of(lambda: jitted(*arguments)) == [__file__]


def seconds_of(call: Callable[..., Any], arguments: Any) -> float:
    """Mean time of a call."""
    start = time.perf_counter()
    for _ in range(CALLS):
        call(*arguments)
    return (time.perf_counter() - start) / CALLS


@pytest.mark.timed
def test_calls_take_as_long_as_those_of_jax_jit(arguments: Any) -> None:
    """Medians of many short turns, taken alternately, since other programs come and go on a machine."""
    calls = {"ours": pipeline.jit(new_step()), "theirs": jax.jit(new_step())}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(ROUNDS):
            call(*arguments)
    for turn in range(ROUNDS):
        for name in sorted(calls, reverse=bool(turn % 2)):
            times[name].append(seconds_of(calls[name], arguments))
    ratio = statistics.median(times["ours"]) / statistics.median(times["theirs"])
    assert ratio == pytest.approx(1.0, abs=0.03)
