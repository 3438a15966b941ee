"""`hloverlap.audit` and `hloverlap.check`: what run takes, they take."""

from __future__ import annotations

import pathlib

import jax
import numpy as np
import pytest

import hloverlap
from hloverlap import Topology
from hloverlap.pipeline.audit.topology import xla_topology
from support.small_modules import FORWARD, function, module, permute

RING = module(function("main", 1, [permute("%0", "%a0", FORWARD)], ["%0"]))
ELIDED = """
func.func @main() -> tensor<4xf32> {
  %0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("kind", ["text", "bytes", "path", "lowered"])
def test_a_program_is_what_it_is_for_run(kind: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ring.mlir"
    path.write_text(RING)
    lowered = jax.jit(lambda x: x + 1).lower(np.ones(3, np.float32))
    program = {"text": RING, "bytes": RING.encode(), "path": path, "lowered": lowered}[kind]
    found = hloverlap.audit(program, target="cpu", use_cache=False)
    assert [op.kind for op in found.collectives] == ([] if kind == "lowered" else ["collective_permute"])
    assert hloverlap.check(program, program).status == "equal"


def test_with_a_pipeline_two_are_compared() -> None:
    found = hloverlap.audit(RING, "canonicalize-permutes", target="cpu", use_cache=False)
    assert (found.verdict.word, found.after.label) == ("same", "after canonicalize-permutes")


@pytest.mark.parametrize(
    ("given", "xla"),
    [
        (None, "1x1x4"),
        (Topology.parse("2x2"), "2x1x2"),
        (Topology.parse("1x2x2"), "1x2x2"),
        (Topology((0, 0, 1, 1)), "2x1x2"),
        (Topology((3, 3, 1, 1), (2, 2, 0, 0)), "2x1x2"),
    ],
)
def test_one_topology_is_told_to_passes_and_to_xla(given: Topology | None, xla: str) -> None:
    assert xla_topology(given, 4) == xla


def test_one_mistake_is_one_type_of_error() -> None:
    for topology in ("8", "1x2", Topology((0,))):
        with pytest.raises(hloverlap.TopologyError):
            hloverlap.audit(RING, topology=topology, target="cpu")
    with pytest.raises(hloverlap.TopologyError):
        hloverlap.check(RING, RING, topology="8")
    with pytest.raises(hloverlap.TargetError):
        hloverlap.audit(RING, target="h900")
    with pytest.raises(hloverlap.PipelineTextError):
        hloverlap.audit(RING, "no-such-pass", target="cpu")
    for call in (hloverlap.audit, lambda program: hloverlap.check(program, RING)):
        with pytest.raises(hloverlap.ReadError):
            call("this is\nno module")


def test_a_constant_that_was_elided_is_bad_input() -> None:
    with pytest.raises(hloverlap.ReadError, match="elided"):
        hloverlap.audit(ELIDED, target="cpu")
