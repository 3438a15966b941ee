"""Knows which passes there are. A pass is imported when it is asked for, not before."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from hloverlap.passes.base import Pass

ENTRY_POINT_GROUP = "hloverlap.passes"

# One line a pass: its name, and where it lives.
BUILTIN = {
    "canonicalize-permutes": "hloverlap.passes.canonicalize_permutes:CanonicalizePermutes",
    "merge-cross-host-transfers": "hloverlap.passes.merge_cross_host_transfers:MergeCrossHostTransfers",
    "assign-collective-streams": "hloverlap.passes.assign_collective_streams:AssignCollectiveStreams",
    "keep-dots-apart": "hloverlap.passes.keep_dots_apart:KeepDotsApart",
    "compose-permutes": "hloverlap.passes.compose_permutes:ComposePermutes",
    "hoist-permutes": "hloverlap.passes.hoist_permutes:HoistPermutes",
    "join-partial-permutes": "hloverlap.passes.join_partial_permutes:JoinPartialPermutes",
    "split-permutes-by-host": "hloverlap.passes.split_permutes_by_host:SplitPermutesByHost",
    "lower-send-recv": "hloverlap.passes.lower_send_recv:LowerSendRecv",
    "strip-stream-annotations": "hloverlap.passes.strip_stream_annotations:StripStreamAnnotations",
    "verify-collectives": "hloverlap.passes.verify_collectives:VerifyCollectives",
}

# The same for what stands in a pipeline as a pass does, but needs more than the module, such as a process of its own.
STEPS = {
    "partition": "hloverlap.pipeline.partition.step:Partition",
}

# Named pipelines: what the name stands for, as pipeline text.
PIPELINES = {
    "overlap": "canonicalize-permutes,merge-cross-host-transfers,assign-collective-streams",
}


def find(name: str) -> type[Pass] | None:
    """Gives the pass of this name: one of ours, else one that an installed package brings, else None.

    A package's broken entry point raises the ImportError or AttributeError that it causes.
    """
    if where := BUILTIN.get(name) or STEPS.get(name):
        module, _, attribute = where.partition(":")
        return _checked(getattr(importlib.import_module(module), attribute))
    for entry in _entry_points(name):
        return _checked(entry.load())
    return None


def names() -> list[str]:
    """Lists all names `find` knows: ours in order of use, then those of packages, sorted."""
    foreign = sorted({entry.name for entry in _entry_points()} - BUILTIN.keys() - STEPS.keys())
    return [*STEPS, *BUILTIN, *foreign]


def _checked(found: object) -> type[Pass]:
    if isinstance(found, type) and issubclass(found, Pass):
        return found
    raise TypeError(f"{found!r} is registered in {ENTRY_POINT_GROUP} but is no hloverlap Pass")


def _entry_points(name: str | None = None) -> Iterator[importlib.metadata.EntryPoint]:
    import importlib.metadata  # 20 ms that a run with built-in passes alone does not pay

    group = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    yield from group if name is None else group.select(name=name)
