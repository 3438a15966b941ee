"""Slices and converts before a permute instead of after it: the same bits, fewer bytes."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies

from generation.pairs import Pairs, pairs
from hloverlap.pipeline.equivalence import checking
from support import small_modules as text
from support.equivalence import codes, rewritten

PARTIAL = [[0, 1], [1, 2], [2, 3]]

# What a module may do after its permute, from 4x6 values of f32: the lines, with %i for the value before.
CHAINS = {
    "slice": ["stablehlo.slice %i [1:3, 0:6:2] : (tensor<4x6xf32>) -> tensor<2x3xf32>"],
    "transpose, slice": [
        "stablehlo.transpose %i, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>",
        "stablehlo.slice %i [0:1, 0:4] : (tensor<6x4xf32>) -> tensor<1x4xf32>",
    ],
    "reshape, convert": [
        "stablehlo.reshape %i : (tensor<4x6xf32>) -> tensor<24xf32>",
        "stablehlo.convert %i : (tensor<24xf32>) -> tensor<24xbf16>",
    ],
    "converts": [
        "stablehlo.convert %i : (tensor<4x6xf32>) -> tensor<4x6xf16>",
        "stablehlo.convert %i : (tensor<4x6xf16>) -> tensor<4x6xf8E5M2>",
    ],
    "to integers": ["stablehlo.convert %i : (tensor<4x6xf32>) -> tensor<4x6xi16>"],
    "to booleans": ["stablehlo.convert %i : (tensor<4x6xf32>) -> tensor<4x6xi1>"],
}


def module(chain: list[str], sent: Pairs | list[list[int]]) -> str:
    """A module that permutes 4x6 values of f32 and does what the chain says to the result."""
    lines = [text.permute("%v0", "%a", sent, "tensor<4x6xf32>")]
    lines += [f"%v{number} = {line.replace('%i', f'%v{number - 1}')}" for number, line in enumerate(chain, 1)]
    last = lines[-1].rpartition("-> ")[2]
    body = "\n".join([*lines, f"return %v{len(chain)} : {last}"])
    return text.module(f"func.func public @main(%a: tensor<4x6xf32>) -> {last} {{\n{body}\n}}")


@pytest.mark.parametrize("name", CHAINS)
def test_xla_computes_the_same_bits(name: str) -> None:
    before = module(CHAINS[name], PARTIAL)
    result = rewritten(before, "hoist-permutes")
    assert codes(result) == ["HSP001"]
    assert checking.check(before.encode(), str(result.module).encode(), seeds=(0, 1, 2)).status == "equal"


shapes = strategies.lists(strategies.integers(1, 4), min_size=1, max_size=3)


@hypothesis.given(strategies.data(), pairs(4))
@hypothesis.settings(max_examples=60, deadline=None)
def test_any_chain_keeps_every_bit_and_never_sends_more(data: strategies.DataObject, sent: Pairs) -> None:
    shape, element, chain = [4, 6], "f32", []
    for _ in range(data.draw(strategies.integers(1, 4))):
        given = f"tensor<{'x'.join(map(str, shape))}x{element}>"
        match data.draw(strategies.sampled_from(["slice", "transpose", "reshape", "convert", "negate"])):
            case "slice":
                limits = [data.draw(strategies.integers(1, length)) for length in shape]
                what, shape = f"slice %i [{', '.join(f'0:{limit}' for limit in limits)}]", limits
            case "transpose":
                order = data.draw(strategies.permutations(range(len(shape))))
                what, shape = f"transpose %i, dims = {list(order)}", [shape[axis] for axis in order]
            case "reshape":
                what, shape = "reshape %i", [*shape, 1] if len(shape) < 3 else [shape[0] * shape[1], *shape[2:]]
            case "convert":
                element = data.draw(strategies.sampled_from(["f64", "f32", "f16", "bf16", "i8"]))
                what = "convert %i"
            case _:
                what = "negate %i"
        made = f"tensor<{'x'.join(map(str, shape))}x{element}>"
        chain.append(f"stablehlo.{what} : ({given}) -> {made}")
    result = rewritten(module(chain, sent), "hoist-permutes")
    permute = next(line for line in str(result.module).splitlines() if "collective_permute" in line)
    bytes_sent = next(iter(result.statistics.get("hoist-permutes", {}).values()), 0)
    assert (codes(result) == ["HSP001"]) == (bytes_sent > 0)
    assert ("(tensor<4x6xf32>)" in permute) == (codes(result) != ["HSP001"])
