"""Transfers in Shardy's form, which are no collectives of StableHLO yet: no pass sees them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from jaxlib.mlir import ir

from hloverlap.passes.mlir.walk import ops_in

_TRANSFERS = ("sdy.all_gather", "sdy.all_reduce", "sdy.all_to_all", "sdy.collective_permute", "sdy.reduce_scatter")


class ShardyTransfers(NamedTuple):
    """What a module has of them."""

    first: ir.Operation
    """The first one in the text."""
    text: str
    """How many there are of each kind, and how they become ops, in two sentences."""


def find(module: ir.Operation) -> ShardyTransfers | None:
    """Counts the transfers of a module; None where there are none. A reshard may yet become none."""
    found = ops_in(module, *_TRANSFERS)
    if not found:
        return None
    counts = Counter(op.name for op in found)
    named = ", ".join(f"{counts[name]} {name}" for name in _TRANSFERS if name in counts)
    text = (
        f"Transfers in Shardy's form, which no pass sees: {named}. The MLIR pass sdy-convert-global-to-local makes ops "
        "of them, in the program of one device; in jax.shard_map they are ops from the start."
    )
    return ShardyTransfers(found[0], text)
