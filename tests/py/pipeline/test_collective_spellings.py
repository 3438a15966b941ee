"""Replica groups as lists and as axes of a mesh are the same to every pass, and every check."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from generation.examining import interpret
from hloverlap.passes import registry
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.equivalence import structure
from hloverlap.pipeline.equivalence.checking import check
from hloverlap.pipeline.execution import running
from support.collective_spellings import KINDS, SPELLINGS, module

PIPELINES = (*registry.BUILTIN, *registry.PIPELINES)


def parse(text: str) -> ir.Module:
    return ir.Module.parse(text, make_context())


@pytest.fixture(params=[(kind, groups) for kind in KINDS for groups in SPELLINGS], ids="-".join)
def both(request: pytest.FixtureRequest) -> tuple[str, str]:
    """One kind of collective over the same groups, as lists and as axes."""
    kind, groups = request.param
    listed, axes = SPELLINGS[groups]
    return module(kind, listed), module(kind, axes)


def test_the_groups_are_the_same(both: tuple[str, str]) -> None:
    read = []
    for parsed in map(parse, both):
        groups, counts = ReplicaGroups(parsed.operation), device_counts(parsed)
        read.append(
            [groups.of(op, counts) for op in ops_in(parsed.operation, *(f"stablehlo.{kind}" for kind in KINDS))]
        )
    assert read[0] == read[1]
    assert len(read[0]) == 3
    assert all(len(group) == 2 for group in read[0][0])


def test_the_interpreter_gives_the_same_results(both: tuple[str, str]) -> None:
    one, other = map(parse, both)
    assert str(interpret(one, 0)) == str(interpret(other, 0))


def test_the_same_data_goes_over_the_wire(both: tuple[str, str]) -> None:
    assert structure.first_difference(*map(parse, both)) == ""


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_each_pass_says_and_does_the_same(both: tuple[str, str], pipeline: str) -> None:
    one, other = (running.run(parse(text), pipeline, topology="2x4", target="h200") for text in both)
    assert [(remark.code, remark.severity, remark.message) for remark in one.remarks] == [
        (remark.code, remark.severity, remark.message) for remark in other.remarks
    ]
    assert one.changed == other.changed
    assert "VCL012" not in [remark.code for remark in one.remarks]


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_on_the_interpreter_runs_both(kind: str) -> None:
    listed, axes = SPELLINGS["part of y"]
    found = check(module(kind, listed).encode(), module(kind, axes).encode(), way="interpreter")
    assert found.status == "equal", f"{found}"


@pytest.mark.parametrize("groups", SPELLINGS)
def test_xla_takes_both_for_the_same(groups: str) -> None:
    listed, axes = SPELLINGS[groups]
    found = check(module("all_gather", listed).encode(), module("all_gather", axes).encode(), seeds=(0,))
    assert found.status == "equal", f"{found}"
