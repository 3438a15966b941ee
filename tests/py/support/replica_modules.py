"""Modules of permutes among four replicas, in which a device may ask for its id."""

from __future__ import annotations

from generation.pairs import Pairs

TYPES = ["f32", "bf16", "f16", "f8E4M3FN", "i1", "i4", "ui8", "f64", "complex<f32>"]

HEAD = "module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {\n"


def permute(result: str, operand: str, sent: Pairs, kind: str) -> str:
    """A line with a permute among replicas."""
    dense = f"dense<{[list(pair) for pair in sent]}>" if sent else "dense<>"
    return (
        f'{result} = "stablehlo.collective_permute"({operand}) '
        f"<{{source_target_pairs = {dense} : tensor<{len(sent)}x2xi64>}}> : ({kind}) -> {kind}"
    )


def module(permutes: list[tuple[str, Pairs]], kind: str) -> str:
    """A module for four replicas that returns permutes of these values: %a, %b, and %v0 … for earlier permutes."""
    lines = [permute(f"%v{number}", operand, sent, kind) for number, (operand, sent) in enumerate(permutes)]
    names = ", ".join(f"%v{number}" for number in range(len(permutes)))
    types = ", ".join([kind] * len(permutes))
    body = "\n".join([*lines, f"return {names} : {types}"])
    return f"{HEAD}func.func public @main(%a: {kind}, %b: {kind}) -> ({types}) {{\n{body}\n}}\n}}"
