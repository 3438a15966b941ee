"""Suggests what might be done: each hint with its reason and, where one would help, an XLA option to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hloverlap.passes.machine.xla_options import (
    COMBINE_THRESHOLD,
    DOT_MERGER,
    OVERLAP_LIMIT,
    PEER_MEMORY,
    PERMUTE_MODE,
)
from hloverlap.pipeline.audit.compiled import Outcome, Program
from hloverlap.pipeline.audit.findings import Finding, located
from hloverlap.pipeline.audit.foresight import JOINED, Foreseen
from hloverlap.pipeline.audit.launches import Launch
from hloverlap.pipeline.audit.op_ids import CollectiveOp, Tagged
from hloverlap.pipeline.audit.reasons import GROUP_WAITS, MERGED
from hloverlap.pipeline.xla.isolated_compile import Option

USE_OVERLAP = "HLA107"


def suggest(outcome: Outcome, tagged: Tagged, options: Mapping[str, object], one_process: bool = True) -> list[Finding]:
    """Gives hints for a module that was compiled with `options`: notes, in the order of their codes.

    one_process: whether one process owns all devices, without which XLA copies nothing from device to device.
    """
    launches = outcome.launches if isinstance(outcome, Program) else ()
    hints = [
        *_overlap_limit(launches, tagged.collectives, options),
        *_annotations(tagged.foreseen),
        *(_peer_memory(launches, options) if one_process else []),
        *_groups(launches),
        *_dot_merger(launches, options),
        *_streams(launches),
    ]
    return sorted((located(hint, tagged.collectives) for hint in hints), key=lambda hint: hint.code)


def overlap_wanted(launches: Sequence[Launch]) -> int:
    """Counts the launches that could be in flight at once at most: a launch and its peers."""
    return max((1 + len(launch.peers) for launch in launches), default=1)


def _hint(code: str, message: str, options: tuple[Option, ...] = (), ids: tuple[int, ...] = ()) -> Finding:
    return Finding(code, "note", message, ids=ids, options=options)


def _overlap_limit(
    launches: Sequence[Launch], collectives: Sequence[CollectiveOp], options: Mapping[str, object]
) -> list[Finding]:
    limit = options.get(OVERLAP_LIMIT, 1)
    wanted = overlap_wanted(launches)
    waiting = any(peer not in (*launch.beside, *launch.queued) for launch in launches for peer in launch.peers)
    if not isinstance(limit, int) or limit >= wanted or not waiting:
        return []
    streams = len({op.stream for op in collectives if op.stream is not None})
    used = f"the module names {streams} streams, and " if streams else ""
    text = (
        f"{used}{wanted} independent collectives could be in flight at once, but the overlap limit is {limit}; "
        f"a higher limit lets XLA start them together"
    )
    return [_hint("HLA101", text, ((OVERLAP_LIMIT, wanted),))]


def _annotations(foreseen: Sequence[Foreseen]) -> list[Finding]:
    hints = []
    for each in foreseen:
        named = ", ".join(f"#{id}" for id in each.ids)
        text = f"{named}: {each.text}" if named else each.text
        if each.code in JOINED:
            hints.append(_hint("HLA102", f"{text} So does {COMBINE_THRESHOLD}=0.", ((COMBINE_THRESHOLD, 0),), each.ids))
        else:
            hints.append(_hint("HLA103", text, (), each.ids))
    return hints


def _peer_memory(launches: Sequence[Launch], options: Mapping[str, object]) -> list[Finding]:
    permutes = [launch for launch in launches if launch.kind == "collective-permute"]
    if PERMUTE_MODE in options or not any(launch.beside for launch in permutes):
        return []
    text = (
        "permutes on several streams share one NCCL communicator, which may still run them in turn; inside a process, "
        "peer memory mode copies from device to device without it"
    )
    return [_hint("HLA104", text, ((PERMUTE_MODE, PEER_MEMORY),))]


def _groups(launches: Sequence[Launch]) -> list[Finding]:
    ids = tuple(id for launch in launches if launch.group and launch.lost == GROUP_WAITS for id in launch.ids)
    if not ids:
        return []
    return [_hint("HLA105", f"{GROUP_WAITS}; jaxlib 0.12 runs groups beside compute", (), ids)]


def _dot_merger(launches: Sequence[Launch], options: Mapping[str, object]) -> list[Finding]:
    ids = tuple(id for launch in launches if launch.lost.startswith(MERGED) for id in launch.ids)
    if not ids or options.get(DOT_MERGER) == 0:
        return []
    wanted = overlap_wanted(launches)
    limit = options.get(OVERLAP_LIMIT, 1)
    text = f"{MERGED}; without the merger each matmul can hide a transfer"
    tried: tuple[Option, ...] = ((DOT_MERGER, 0),)
    if isinstance(limit, int) and wanted > limit:
        tried += ((OVERLAP_LIMIT, wanted),)
    return [_hint("HLA106", text, tried, ids)]


def _streams(launches: Sequence[Launch]) -> list[Finding]:
    """Suggests the pass where independent launches are on one stream: no option does what it does."""
    ids = tuple(
        dict.fromkeys(
            id
            for index, launch in enumerate(launches)
            if not launch.annotation and any(peer not in launch.beside for peer in launch.peers)
            for id in launch.ids
        )
    )
    if not ids:
        return []
    return [_hint(USE_OVERLAP, "hlo-opt --overlap gives independent collectives streams of their own", (), ids)]
