"""A permute split at the hosts' edges: the same bits on every topology."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies

from generation.pairs import Pairs, pairs
from hloverlap.passes.analysis.collectives import PERMUTE, pairs_of
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.equivalence import checking
from support.equivalence import codes, rewritten
from support.replica_modules import TYPES, module


@pytest.mark.parametrize("element", TYPES)
def test_xla_computes_the_same_bits(element: str) -> None:
    before = module([("%a", [(0, 1), (1, 2), (2, 3)])], f"tensor<8x{element}>")
    result = rewritten(before, "split-permutes-by-host", topology="2x2")
    assert codes(result) == ["SPH001"]
    assert checking.check(before.encode(), str(result.module).encode(), seeds=(0, 2)).status == "equal"


@hypothesis.given(pairs(4), strategies.lists(strategies.integers(0, 2), min_size=4, max_size=4))
@hypothesis.settings(max_examples=60, deadline=None)
def test_afterwards_no_permute_has_both_kinds_of_pairs(sent: Pairs, hosts: list[int]) -> None:
    topology = Topology(tuple(hosts))
    result = rewritten(module([("%a", sent)], "tensor<2xbf16>"), "split-permutes-by-host", topology=str(hosts))
    for op in ops_in(result.module.operation, PERMUTE):
        assert len({topology.span(pair) for pair in pairs_of(op) if pair[0] != pair[1]}) < 2
