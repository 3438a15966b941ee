"""A permute as text: the one place of the tests that spells the op out."""

from __future__ import annotations

from collections.abc import Sequence


def permute(
    result: str,
    operand: str,
    pairs: Sequence[Sequence[int]],
    type: str,
    *,
    channel: int | None = 1,
    attributes: str = "",
    location: str = "",
) -> str:
    """Returns one line.

    channel: its handle, None for a permute among replicas. attributes: a dictionary with its braces.
    """
    listed = f"dense<{[list(pair) for pair in pairs] or ''}> : tensor<{len(pairs)}x2xi64>"
    properties = [f"source_target_pairs = {listed}"]
    if channel is not None:
        properties.append(f"channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>")
    op = f'{result} = "stablehlo.collective_permute"({operand}) <{{{", ".join(properties)}}}>'
    return " ".join(part for part in (op, attributes, f": ({type}) -> {type}", location) if part)
