"""Modules of permutes among four replicas, in which a device may ask for its id."""

from __future__ import annotations

from generation.pairs import Pairs
from support.permutes import permute

TYPES = ["f32", "bf16", "f16", "f8E4M3FN", "i1", "i4", "ui8", "f64", "complex<f32>"]

HEAD = "module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {\n"


def module(sent: list[tuple[str, Pairs]], kind: str) -> str:
    """A module for four replicas that returns permutes of these values: %a, %b, and %v0 … for earlier permutes."""
    lines = [permute(f"%v{number}", operand, pairs, kind, channel=None) for number, (operand, pairs) in enumerate(sent)]
    names = ", ".join(f"%v{number}" for number in range(len(sent)))
    types = ", ".join([kind] * len(sent))
    body = "\n".join([*lines, f"return {names} : {types}"])
    return f"{HEAD}func.func public @main(%a: {kind}, %b: {kind}) -> ({types}) {{\n{body}\n}}\n}}"
