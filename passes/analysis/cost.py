"""Estimates how long permutes take on a target: enough to say whether merging them pays, not to predict a run.

The time of one transfer is launch + latency + bytes / bandwidth of the busiest link, in the units of `Costs`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.machine.target import Costs, Link, Target
from hloverlap.passes.machine.topology import Span, Topology

# The costs that name the link of what crosses so much, the cheapest first where nobody said all.
_LINKS = {
    Span.PROCESS: ("same_process",),
    Span.HOST: ("same_host",),
    Span.NETWORK: ("cross_host",),
    Span.INSIDE_HOST: ("same_process", "same_host"),
    Span.BETWEEN_PROCESSES: ("same_host", "cross_host"),
}


class UnknownCostError(Exception):
    """Says that an estimate needs what is not known of the target; the text is a clause: what, and how to say it."""


@dataclasses.dataclass(frozen=True)
class CostModel:
    """Estimates for one target and topology; what they need and is not known raises UnknownCostError."""

    target: Target | None
    """None where nobody said what the result will run on."""

    topology: Topology | None
    """None where nobody said where the partitions are; then all are taken to be on one host."""

    @property
    def name(self) -> str:
        """Gives what a remark calls the target."""
        return self.target.name if self.target else "an unknown machine"

    @property
    def joins_equal_pairs(self) -> bool:
        """Says whether XLA makes one launch of independent permutes with equal pairs by itself, without copies."""
        return self.target is None or self.target.is_gpu

    @property
    def has_groups(self) -> bool:
        """Says whether a ``_collectives_group`` is one launch there."""
        return self.target is None or self.target.is_gpu

    def one_launch(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of permutes that are one launch: the busiest end of a link decides."""
        return self._launched(permutes, len(permutes))

    def separate(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of the permutes in turn, after XLA has joined what it joins by itself."""
        joined: dict[object, list[Collective]] = {}
        for number, permute in enumerate(permutes):
            joined.setdefault(permute.canonical_pairs if self.joins_equal_pairs else number, []).append(permute)
        return sum(self.one_launch(part) for part in joined.values())

    def packed(self, permutes: Sequence[Collective]) -> float:
        """Estimates the microseconds of one permute of the packed data: every byte is copied before and after."""
        copies = self.copies(2 * sum(permute.bytes for permute in permutes))
        return self._launched(permutes, 1) + copies

    def copies(self, size: float) -> float:
        """Estimates the microseconds of kernels that read and write so many bytes."""
        return self._known("pack") + size / self._known("copy")

    def prefers_peer(self, launches: Sequence[tuple[int, int]]) -> bool:
        """Says whether launches inside a process (bytes, times it runs) are faster as copies from device to device."""
        if not self.measures_peer:
            return False
        nccl, peer = self._link("same_process"), self._link("peer")
        gained = sum(size * times for size, times in launches) * (1 / nccl.bandwidth - 1 / peer.bandwidth)
        lost = sum(times for _, times in launches) * (peer.latency - nccl.latency)
        return gained > lost + len(launches) * self._known("peer_once")

    @property
    def measures_peer(self) -> bool:
        """Says whether it is known what copies from device to device gain."""
        costs = self._costs
        return None not in (costs.same_process, costs.peer, costs.peer_once)

    def _launched(self, permutes: Sequence[Collective], members: int) -> float:
        """Estimates the microseconds of one launch of so many members that moves what these permutes move.

        A device sends and receives at once, but what it sends to several others shares its link to them.
        """
        busy: dict[tuple[int, bool, Span], int] = {}  # (device, sends, what it crosses) -> bytes
        for permute in permutes:
            for source, target in permute.pairs:
                if source != target:
                    span = self.topology.span((source, target)) if self.topology is not None else Span.INSIDE_HOST
                    for end in ((source, True, span), (target, False, span)):
                        busy[end] = busy.get(end, 0) + permute.bytes
        spans = dict.fromkeys(span for _, _, span in busy)
        links = {span: self._link_across(span, least=Span.NETWORK in spans) for span in spans}
        latency = max((link.latency for link in links.values()), default=0.0)
        flow = max((size / links[span].bandwidth for (_, _, span), size in busy.items()), default=0.0)
        more = 0.0
        if members > 1 and Span.NETWORK not in spans:
            more = (members - 1) * max((self._member(span) for span in spans), default=0.0)
        return self._known("launch") + latency + flow + more

    def _link_across(self, span: Span, least: bool) -> Link:
        """Gives the link of what crosses so much. least: of several that it may be, take the cheapest.

        So it is where something else of the launch goes over the network, and decides.
        """
        links = [self._link(name) for name in _LINKS[span][: 1 if least else None]]
        if links.count(links[0]) == len(links):
            return links[0]
        raise UnknownCostError(
            f"what goes {span.value} costs one thing or another on {self.name}; a topology that says hosts, processes "
            f"and devices of each, such as 1x1x8 or 1x8x1, tells which"
        )

    @property
    def _costs(self) -> Costs:
        return self.target.costs if self.target else Costs()

    def _known(self, name: str) -> float:
        value: float | None = getattr(self._costs, name)
        if value is None:
            raise self._unknown(name)
        return value

    def _link(self, name: str) -> Link:
        link: Link | None = getattr(self._costs, name)
        if link is None:
            raise self._unknown(name)
        return link

    def _member(self, span: Span) -> float:
        name = _LINKS[span][0]
        member = self._link(name).member
        if member is None:
            raise self._unknown(f"{name}.member")
        return member

    def _unknown(self, name: str) -> UnknownCostError:
        if self.target is None:
            return UnknownCostError(
                "nobody said what the result will run on, and so what transfers cost; give a target, such as h200"
            )
        return UnknownCostError(f"what it costs on {self.name} is not known; a target file with costs.{name} says it")
