"""Modules of permutes as text, written shortly."""

from collections.abc import Sequence

from support import permutes

FORWARD = [[0, 1], [1, 2], [2, 3], [3, 0]]
BACKWARD = [[0, 3], [1, 0], [2, 1], [3, 2]]
TYPE = "tensor<8xf32>"


def permute(result: str, operand: str, pairs: Sequence[Sequence[int]], element: str = TYPE) -> str:
    """One line with a permute in partition mode."""
    return permutes.permute(result, operand, pairs, element)


def module(*functions: str) -> str:
    """A module for four partitions."""
    body = "\n".join(functions)
    return f"module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}} {{\n{body}\n}}"


def function(name: str, arguments: int, lines: Sequence[str], returned: Sequence[str], public: bool = True) -> str:
    """A function of %a0 … with one type for all values."""
    given = ", ".join(f"%a{number}: {TYPE}" for number in range(arguments))
    types = ", ".join([TYPE] * len(returned))
    done = f"return {', '.join(returned)} : {types}" if returned else "return"
    visibility = "public" if public else "private"
    return f"func.func {visibility} @{name}({given}) -> ({types}) {{\n" + "\n".join([*lines, done]) + "\n}"
