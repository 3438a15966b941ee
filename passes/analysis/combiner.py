"""Says which permutes XLA:GPU's combiner makes one of, and what becomes of what they carry.

The rules are those of xla/hlo/transforms/collectives/collective_permute_combiner.cc;
tests/py/passes/analysis/test_xla_rules.py compiles each of them.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.analysis.xla_streams import is_domain, names_no_stream
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT

Outcome = Literal["aborts", "synchronous", "moved", "leaves domain", "kept"]


def kind(fact: Collective, step: int) -> Hashable:
    """Gives what is equal for independent permutes that the combiner joins, as far as `fits` lets it.

    step: the loop or conditional that holds it. The pairs must be in the same order; types may differ; an empty
    combiner key counts as no key.
    """
    return step, fact.mode, fact.pairs, fact.combiner_key


def fits(some_bytes: int, more_bytes: int, limit: int = COMBINE_THRESHOLD_DEFAULT) -> bool:
    """Says whether the combiner joins permutes of so many bytes as far as their size goes."""
    return some_bytes + more_bytes <= limit


def outcome(one: Collective, other: Collective, capabilities: Capabilities) -> Outcome:
    """Says what becomes of two permutes that are joined.

    The one that results carries the different annotations with a comma between them, and whatever carries an annotation
    when it is joined becomes synchronous on a newer XLA. On an older one it is on the stream that one of them named
    (``moved`` if the other named none), and XLA aborts where they named two. A communication domain is lost.
    """
    streams = {fact.stream for fact in (one, other) if fact.stream is not None}
    if streams and not capabilities.keeps_joined_streams:
        return "synchronous"
    if len(streams) > 1:
        return "aborts"
    if None in (one.stream, other.stream) and not all(map(names_no_stream, streams)):
        return "moved"
    if not streams and capabilities.has_scale_up_domain and (is_domain(one.domain) or is_domain(other.domain)):
        return "leaves domain"
    return "kept"
