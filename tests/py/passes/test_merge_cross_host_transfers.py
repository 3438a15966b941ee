"""What lit tests cannot say of merge-cross-host-transfers: machines that are none of the targets."""

from __future__ import annotations

import dataclasses

from hloverlap.passes.analysis import cost
from hloverlap.pipeline import run

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
    target = dataclasses.replace(cost.named("h200"), joins_equal_pairs=False)
    once = run(text, "merge-cross-host-transfers", topology="2x2", target=target)
    assert once.statistics["merge-cross-host-transfers"] == {"num-packed": 1, "num-groups": 1, "num-merged": 4}
    assert "tensor<9xf32>" in str(once.module)
    assert not run(once.module, "merge-cross-host-transfers", topology="2x2", target=target).changed
