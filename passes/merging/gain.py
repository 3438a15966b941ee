"""Whether merging permutes pays, as far as the cost model and measurements can say."""

from __future__ import annotations

from collections.abc import Sequence

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.context import Context, Declined

# What is merged is estimated to take at most this much of its time apart; the estimates are no better than that.
WORTH = 0.85

# What a merged transfer is, as a remark says it.
NAMES = {"concat": "one packed permute", "group": "one group"}


def estimate(way: str, part: Sequence[Collective], context: Context) -> tuple[float, float]:
    """Microseconds merged in this way (``concat`` or ``group``), and apart."""
    target, topology = context.costs, context.topology
    merged = target.together(part, topology) if way == "group" else target.packed(part, topology)
    return merged, target.apart(part, topology)


def objection(way: str, part: Sequence[Collective], context: Context) -> Declined | None:
    """Why permutes are better not merged in this way: the code of a remark, and a clause; None where it pays."""
    target, topology = context.costs, context.topology
    crosses = topology is not None and any(topology.any_crosses(fact.pairs) for fact in part)
    if way == "group":
        if not target.has_groups:
            return Declined("MCT010", f"a group is no single launch on {target.name}")
        if not context.capabilities.group_overlaps_compute:
            return Declined("MCT010", "this version of XLA lets no compute run beside a group")
        if target.joins_equal_pairs and len({fact.canonical_pairs for fact in part}) == 1:
            return Declined("MCT009", f"XLA joins the {len(part)} with the same pairs by itself")
        if not crosses:
            return Declined("MCT010", "inside a host streams serve better than a group")
    if way == "concat" and len({fact.dtypes for fact in part}) > 1 and not crosses:
        return Declined("MCT014", "inside a host, packing several types takes longer than the launches that it saves")
    merged, apart = estimate(way, part, context)
    if merged > WORTH * apart:
        now = "as XLA joins them" if target.joins_equal_pairs else "apart"
        return Declined(
            "MCT011", f"{NAMES[way]} would take about {merged:.0f} us on {target.name}, {now} {apart:.0f} us"
        )
    return None
