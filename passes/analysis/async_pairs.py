"""Collectives that the program starts and ends itself: two custom calls, as jax 0.12 writes its asynchronous ones.

    %0 = stablehlo.custom_call @"all-gather-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{…}"}}
    %1 = stablehlo.custom_call @"all-gather-done"(%0)

What StableHLO's op has as attributes is in the configuration, as JSON. XLA of jaxlib 0.12 makes the pair a start and a
done of its own, which run on communication stream 0: it keeps the location of the start and drops all other frontend
attributes of both, a stream annotation among them. (xla/service/async_collective_custom_call_rewriter.cc;
tests/py/passes/analysis/test_xla_rules.py compiles it.) Earlier versions know no such custom calls.
"""

from __future__ import annotations

import json
from typing import Any

from jaxlib.mlir import ir

from hloverlap.passes.mlir import frontend_attributes

CUSTOM_CALL = "stablehlo.custom_call"
_CONFIG = "async_collective_config"
_TARGETS = ("all-gather", "all-reduce", "all-to-all", "collective-permute", "reduce-scatter")
_STARTS = {f"{target}-start": target.replace("-", "_") for target in _TARGETS}
_DONES = frozenset(f"{target}-done" for target in _TARGETS)


def started_kind(op: ir.Operation) -> str | None:
    """Gives the kind of the collective that an op starts, such as ``all_gather``; None for what starts none."""
    return _STARTS.get(target_of(op)) if op.name == CUSTOM_CALL else None


def is_start_or_done(op: ir.Operation) -> bool:
    """Says whether an op starts or ends a collective."""
    return op.name == CUSTOM_CALL and ((target := target_of(op)) in _STARTS or target in _DONES)


def target_of(op: ir.Operation) -> str:
    """Gives the name of what a custom call calls."""
    return str(ir.StringAttr(op.attributes["call_target_name"]).value)


def config(start: ir.Operation) -> dict[str, Any]:
    """Reads the configuration of a start: ``permutation``, ``replica_groups``, ``channel_id`` and others by name.

    It is empty where the start has none, or none that can be read: XLA then refuses the module.
    """
    try:
        found = json.loads(frontend_attributes.read(start).get(_CONFIG, ""))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def pairs(start: ir.Operation) -> tuple[tuple[int, int], ...]:
    """Lists the source-target pairs of a permute that is started; none where they cannot be read."""
    try:
        return tuple((int(source), int(target)) for source, target in config(start).get("permutation", ()))
    except (TypeError, ValueError):
        return ()


def groups(start: ir.Operation) -> tuple[tuple[int, ...], ...]:
    """Lists the ids of each replica group; none where it is between all, and where they cannot be read."""
    try:
        return tuple(tuple(map(int, group)) for group in config(start).get("replica_groups", ()))
    except (TypeError, ValueError):
        return ()


def is_global(start: ir.Operation) -> bool:
    """Says whether the ids of its groups are those of all devices."""
    return config(start).get("use_global_device_ids") is True


def has_channel(start: ir.Operation) -> bool:
    """Says whether its ids are those of partitions, by the rule of `collectives.mode_of`."""
    channel = config(start).get("channel_id")
    return isinstance(channel, int) and channel > 0
