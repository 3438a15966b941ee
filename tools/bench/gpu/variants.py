"""Lists the ways to run a program that are compared, each a pipeline of ours or none and options for XLA."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from hloverlap.passes.machine.xla_options import (
    COMBINE_THRESHOLD,
    DOT_MERGER,
    MULTI_STREAMING,
    OVERLAP_LIMIT,
    PEER_MEMORY,
    PERMUTE_MODE,
    CompileOption,
)

_IN_FLIGHT = 4
_LIMIT = {OVERLAP_LIMIT: _IN_FLIGHT}
_PEER = {PERMUTE_MODE: PEER_MEMORY}

_MOST_BYTES = 1 << 30  # the sizes are the question here, so no pass decides by them
_GROUPS = f"merge-cross-host-transfers{{strategy=group scope=all max-bytes={_MOST_BYTES}}}"
_PACKED = f"merge-cross-host-transfers{{strategy=concat scope=all max-bytes={_MOST_BYTES}}}"

STREAMS = "assign-collective-streams"
PLAIN = "plain"
AUTO = "auto"
WITHIN = 0.03  # how near to the fastest variant `auto` has to be


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run."""

    name: str
    summary: str
    pipeline: str = ""
    """One of ours, "" for none."""
    options: Mapping[str, CompileOption] = dataclasses.field(default_factory=dict)
    """For XLA, besides those that the pipeline asks for."""


VARIANTS: tuple[Variant, ...] = (
    Variant(PLAIN, "jit as it is"),
    Variant("limit", f"XLA may have {_IN_FLIGHT} collectives in flight", options=_LIMIT),
    Variant("multi-stream", "the same, with XLA's own streams", options={**_LIMIT, MULTI_STREAMING: True}),
    Variant("canonical", "canonicalize-permutes alone", "canonicalize-permutes"),
    Variant("streams", "assign-collective-streams", STREAMS),
    Variant("groups", "one launch of all that can share one", _GROUPS),
    Variant("packed", "one packed transfer where pairs are equal", _PACKED),
    Variant("peer", "jit, permutes as copies to peer memory", options=_PEER),
    Variant(
        "limit+peer",
        "limit, permutes as copies to peer memory",
        options={**_PEER, **_LIMIT},
    ),
    Variant("streams+peer", "streams, permutes as copies to peer memory", STREAMS, _PEER),
    Variant(AUTO, "the pipeline 'overlap'", "overlap"),
    Variant("apart", "jit, no permutes joined", options={COMBINE_THRESHOLD: 0}),
    Variant("dots", "jit without the dot merger", options={DOT_MERGER: 0}),
    Variant("streams+dots", "streams without the dot merger", STREAMS, {DOT_MERGER: 0}),
)


def kin(name: str) -> tuple[str, ...]:
    """Lists the variants that fail together with this one: all that copy to peer memory, else itself."""
    if PERMUTE_MODE not in BY_NAME[name].options:
        return (name,)
    return tuple(variant.name for variant in VARIANTS if PERMUTE_MODE in variant.options)


BY_NAME: Mapping[str, Variant] = {variant.name: variant for variant in VARIANTS}

USUAL: tuple[str, ...] = tuple(v.name for v in VARIANTS if v.name not in ("apart", "dots", "streams+dots"))
