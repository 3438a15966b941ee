"""The ways to run a program that are compared, each a pipeline of ours or none and options for XLA."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from hloverlap.passes.context import CompileOption

_LIMIT = "xla_gpu_experimental_parallel_collective_overlap_limit"
_MULTI = "xla_gpu_experimental_enable_collective_multi_streaming"
_MODE = "xla_gpu_collective_permute_mode"
_COMBINE = "xla_gpu_collective_permute_combine_threshold_bytes"
_DOT_MERGER = "xla_gpu_dot_merger_threshold_mb"
_PEER = "COLLECTIVES_PEER_MEMORY"
_IN_FLIGHT = 4

_MOST_BYTES = 1 << 30  # the sizes are the question here, so no pass decides by them
_GROUPS = f"merge-cross-host-transfers{{strategy=group scope=all max-bytes={_MOST_BYTES}}}"
_PACKED = f"merge-cross-host-transfers{{strategy=concat scope=all max-bytes={_MOST_BYTES}}}"

STREAMS = "assign-collective-streams"
PLAIN = "plain"
AUTO = "auto"
WITHIN = 0.03  # how near to the fastest variant `auto` has to be


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run. pipeline: of ours, "" for none. options: for XLA, besides those that the pipeline asks for."""

    name: str
    summary: str
    pipeline: str = ""
    options: Mapping[str, CompileOption] = dataclasses.field(default_factory=dict)


VARIANTS: tuple[Variant, ...] = (
    Variant(PLAIN, "jit as it is"),
    Variant("limit", f"XLA may have {_IN_FLIGHT} collectives in flight", options={_LIMIT: _IN_FLIGHT}),
    Variant("multi-stream", "the same, with XLA's own streams", options={_LIMIT: _IN_FLIGHT, _MULTI: True}),
    Variant("canonical", "canonicalize-permutes alone", "canonicalize-permutes"),
    Variant("streams", "assign-collective-streams", STREAMS),
    Variant("groups", "one launch of all that can share one", _GROUPS),
    Variant("packed", "one packed transfer where pairs are equal", _PACKED),
    Variant("peer", "jit, permutes as copies to peer memory", options={_MODE: _PEER}),
    Variant("limit+peer", "limit, permutes as copies to peer memory", options={_MODE: _PEER, _LIMIT: _IN_FLIGHT}),
    Variant("streams+peer", "streams, permutes as copies to peer memory", STREAMS, {_MODE: _PEER}),
    Variant(AUTO, "the pipeline 'overlap'", "overlap"),
    Variant("apart", "jit, no permutes joined", options={_COMBINE: 0}),
    Variant("dots", "jit without the dot merger", options={_DOT_MERGER: 0}),
    Variant("streams+dots", "streams without the dot merger", STREAMS, {_DOT_MERGER: 0}),
)


def kin(name: str) -> tuple[str, ...]:
    """The variants that fail together with this one: all that copy to peer memory, else itself."""
    if _MODE not in BY_NAME[name].options:
        return (name,)
    return tuple(variant.name for variant in VARIANTS if _MODE in variant.options)


BY_NAME: Mapping[str, Variant] = {variant.name: variant for variant in VARIANTS}

USUAL: tuple[str, ...] = tuple(v.name for v in VARIANTS if v.name not in ("apart", "dots", "streams+dots"))
