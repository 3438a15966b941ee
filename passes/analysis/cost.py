"""Estimates how long permutes take on a target: enough to say whether merging them pays, not to predict a run.

The time of one transfer is launch + latency + bytes / bandwidth of the busiest link, in the units of `Costs`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.machine.target import Costs, Link, Target
from hloverlap.passes.machine.topology import Topology


class UnknownCostError(Exception):
    """Says that an estimate needs what is not known of the target; the text is a clause: what, and how to say it."""


@dataclasses.dataclass(frozen=True)
class CostModel:
    """Estimates for one target and topology; what they need and is not known raises UnknownCostError."""

    target: Target | None
    """None where nobody said what the result will run on."""

    topology: Topology | None
    """None where nobody said which partition is on which host; then nothing crosses hosts."""

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
        """Says whether launches inside a host (bytes, times it runs) are faster as copies from device to device."""
        if not self.measures_peer:
            return False
        nccl, peer = self._link("same_host"), self._link("peer")
        gained = sum(size * times for size, times in launches) * (1 / nccl.bandwidth - 1 / peer.bandwidth)
        lost = sum(times for _, times in launches) * (peer.latency - nccl.latency)
        return gained > lost + len(launches) * self._known("peer_once")

    @property
    def measures_peer(self) -> bool:
        """Says whether it is known what copies from device to device gain."""
        costs = self._costs
        return None not in (costs.same_host, costs.peer, costs.peer_once)

    def _launched(self, permutes: Sequence[Collective], members: int) -> float:
        """Estimates the microseconds of one launch of so many members that moves what these permutes move.

        A device sends and receives at once, but what it sends to several others shares its link to them.
        """
        busy: dict[tuple[int, bool, bool], int] = {}  # (device, sends, crosses hosts) -> bytes
        for permute in permutes:
            for source, target in permute.pairs:
                if source != target:
                    crosses = self.topology is not None and self.topology.crosses((source, target))
                    for end in ((source, True, crosses), (target, False, crosses)):
                        busy[end] = busy.get(end, 0) + permute.bytes
        links = {crosses: self._link("cross_host" if crosses else "same_host") for _, _, crosses in busy}
        latency = max((link.latency for link in links.values()), default=0.0)
        flow = max((size / links[crosses].bandwidth for (_, _, crosses), size in busy.items()), default=0.0)
        more = (members - 1) * self._member() if members > 1 and True not in links else 0.0
        return self._known("launch") + latency + flow + more

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

    def _member(self) -> float:
        member = self._link("same_host").member
        if member is None:
            raise self._unknown("same_host.member")
        return member

    def _unknown(self, name: str) -> UnknownCostError:
        if self.target is None:
            return UnknownCostError(
                "nobody said what the result will run on, and so what transfers cost; give a target, such as h200"
            )
        return UnknownCostError(f"what it costs on {self.name} is not known; a target file with costs.{name} says it")
