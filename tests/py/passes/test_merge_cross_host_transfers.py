"""What lit tests cannot say of merge-cross-host-transfers: machines that are none of the targets."""

from __future__ import annotations

from unittest import mock

from jaxlib.mlir import ir

from hloverlap.passes.analysis.cost import CostModel
from hloverlap.passes.context import Context
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.merge_cross_host_transfers import MergeCrossHostTransfers
from hloverlap.passes.mlir.dialects import make_context

PAIRS = {"right": "[[0, 1], [1, 2], [2, 3], [3, 0]]", "left": "[[0, 3], [1, 0], [2, 1], [3, 2]]"}


def permute(number: int, pairs: str, size: int) -> str:
    return (
        f'%{number} = "stablehlo.collective_permute"(%a{number}) <{{source_target_pairs = dense<{PAIRS[pairs]}> : '
        f"tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}}> : (tensor<{size}xf32>) "
        f"-> tensor<{size}xf32>"
    )


def test_what_is_packed_is_grouped_with_others_at_once() -> None:
    """Where XLA joins nothing by itself, two small permutes are packed, and the packed one goes along with a third.

    Were it left for the next run, that would change the module once more.
    """
    permutes = [("right", 4), ("right", 5), ("left", 60000)]
    arguments = ", ".join(f"%a{number}: tensor<{size}xf32>" for number, (_, size) in enumerate(permutes))
    types = ", ".join(f"tensor<{size}xf32>" for _, size in permutes)
    lines = "\n".join(permute(number, *each) for number, each in enumerate(permutes))
    text = f"""module attributes {{mhlo.num_partitions = 4 : i32}} {{
      func.func @main({arguments}) -> ({types}) {{
        {lines}
        return %0, %1, %2 : {types}
      }}
    }}"""
    module = ir.Module.parse(text, make_context())
    assert merge(module) == {"num-packed": 1, "num-groups": 1, "num-merged": 4}
    once = str(module)
    assert "tensor<9xf32>" in once
    assert merge(module) == {}
    assert str(module) == once


def merge(module: ir.Module) -> dict[str, int]:
    """Runs the pass in place, for an XLA that has groups; gives what it counted."""
    target = targets.find("h200")
    capabilities = Capabilities(group_overlaps_compute=True, keeps_groups=True)
    context = Context(topology=Topology.parse("2x2"), target=target, capabilities=capabilities)
    with module.context, mock.patch.object(CostModel, "joins_equal_pairs", False):
        MergeCrossHostTransfers().run(module.operation, context)
    return context.statistics.get("merge-cross-host-transfers", {})
