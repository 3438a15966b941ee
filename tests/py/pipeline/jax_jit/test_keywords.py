"""What run, compile, jit, enabled and install are told reaches the passes, whichever of them it is told to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jaxlib.mlir import ir

import hloverlap
from hloverlap import Context, Pass, Topology

Call = Callable[..., None]
X = np.ones(3, np.float32)  # no operation of its own is compiled for it


def double(x: jax.Array) -> jax.Array:
    return x * 2


def _run(*arguments: Any, **named: Any) -> None:
    hloverlap.run(jax.jit(double).lower(X), *arguments, **named)


def _compile(*arguments: Any, **named: Any) -> None:
    hloverlap.compile(jax.jit(double).lower(X), *arguments, **named)


def _jit(*arguments: Any, **named: Any) -> None:
    hloverlap.jit(lambda x: double(x), *arguments, strict=True, **named)(X)


def _enabled(*arguments: Any, **named: Any) -> None:
    with hloverlap.enabled(*arguments, strict=True, **named):
        jax.jit(lambda x: double(x))(X)


def _install(*arguments: Any, **named: Any) -> None:
    try:
        hloverlap.install(*arguments, strict=True, **named)
        jax.jit(lambda x: double(x))(X)
    finally:
        hloverlap.uninstall()


CALLS = [_run, _compile, _jit, _enabled, _install]


@dataclasses.dataclass(frozen=True)
class _Look(Pass):
    name = "look"
    summary = "Looks at what it is told."
    seen = []  # noqa: RUF012

    def run(self, op: ir.Operation, context: Context) -> None:
        """Keeps the context."""
        self.seen.append(context)


@dataclasses.dataclass(frozen=True)
class _Break(Pass):
    name = "break"
    summary = "Breaks the module, or mends it."
    broken: bool = hloverlap.option(True, "what it shall be")

    def run(self, op: ir.Operation, context: Context) -> None:
        """Gives the first function a result type that it has not, or the right one."""
        function = op.regions[0].blocks[0].operations[0]
        arguments = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
        results = [] if self.broken else [ir.RankedTensorType.get([3], ir.F32Type.get())]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(arguments, results))


@pytest.fixture
def seen() -> list[Context]:
    """The contexts that the pass below is given."""
    _Look.seen = []
    return _Look.seen


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("target", ["b200", "a Target"])
def test_the_target_that_is_given_is_the_target(call: Call, target: str, seen: list[Context]) -> None:
    _run(_Look(), target="b200")
    of_run = seen[0].target
    call(_Look(), target="b200" if target == "b200" else of_run)
    assert of_run is not None
    assert [context.target for context in seen] == [of_run] * 2


@pytest.mark.parametrize("call", CALLS[1:])
def test_by_default_the_target_is_the_devices(call: Call, seen: list[Context]) -> None:
    call(_Look())
    assert [context.target and context.target.name for context in seen] == ["cpu"] * len(seen)
    assert seen


def test_run_knows_of_no_device(seen: list[Context]) -> None:
    _run(_Look())
    assert seen[0].target is None


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("topology", ["1x1", Topology((0,))])
def test_the_topology_is_text_or_a_topology(call: Call, topology: Topology | str, seen: list[Context]) -> None:
    call(_Look(), topology=topology)
    assert {context.topology.host for context in seen} == {(0,)}  # jax adds the process where it knows it


@pytest.mark.parametrize("call", CALLS)
def test_verify_each_says_whether_mlir_verifies_between_passes(call: Call) -> None:
    steps = [_Break(), _Break(broken=False)]
    call(steps, verify_each=False)
    with pytest.raises(hloverlap.PassFailedError):
        call(steps)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        ({"pipeline": "no-such-pass"}, hloverlap.PipelineTextError),
        ({"topology": "8"}, hloverlap.TopologyError),
        ({"target": "h900"}, hloverlap.TargetError),
    ],
)
def test_one_mistake_is_one_type_of_error(call: Call, mistake: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        call(**mistake)
