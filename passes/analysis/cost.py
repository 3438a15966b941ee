"""What transfers cost, by target and link: enough to say whether merging them pays, not to predict a run.

The time of one transfer is launch + latency + bytes / bandwidth of the busiest link. Times are in microseconds, sizes
in bytes, bandwidths in bytes a microsecond (1000 is 1 GB/s), all for one device with the others doing the same at the
same time.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.errors import TargetError
from hloverlap.passes.machine.topology import Topology


@dataclasses.dataclass(frozen=True)
class Link:
    """latency: of a message, besides its launch; member: of each further permute in one launch. bandwidth: then."""

    latency: float
    bandwidth: float
    member: float = 0.0


@dataclasses.dataclass(frozen=True)
class Target:
    """One kind of machine.

    launch: of one collective. same_host, cross_host: the links.
    copy: bandwidth of packing, of bytes read and written once each. pack: of the kernels that do it, without the bytes.
    joins_equal_pairs: XLA makes one launch of independent permutes with equal pairs by itself, without copies.
    has_groups: a `_collectives_group` is one launch there.
    peer: the link inside a host when XLA copies from device to device instead of going through NCCL; None where that
    was not measured, and then nothing is known of transfers inside a host.
    peer_once: how much longer the first copy from device to device of a permute takes in a run than later ones.
    stream_bytes: smaller permutes lose more by a stream of their own than they gain.
    row: a function of at most so many ops, kept as a call, is run one op after the other on one thread, which for small
    ones is faster than handing each to a thread; 0 where XLA runs ops in a row anyway.
    """

    name: str
    launch: float
    same_host: Link
    cross_host: Link
    copy: float
    joins_equal_pairs: bool
    has_groups: bool
    pack: float = 0.0
    peer: Link | None = None
    peer_once: float = 0.0
    stream_bytes: int = 0
    row: int = 0
    is_gpu: bool = True
    """Whether XLA:GPU compiles for it, and takes its options."""

    def together(self, permutes: Sequence[Collective], topology: Topology | None) -> float:
        """Time of permutes that are one launch: the busiest end of a link decides.

        A device sends and receives at once, but what it sends to several others shares its link to them.
        """
        busy: dict[tuple[int, bool, bool], int] = {}  # (device, sends, crosses hosts) -> bytes
        for permute in permutes:
            for source, target in permute.pairs:
                if source != target:
                    crosses = topology is not None and topology.crosses((source, target))
                    for end in ((source, True, crosses), (target, False, crosses)):
                        busy[end] = busy.get(end, 0) + permute.bytes
        latency, flow = 0.0, 0.0
        for (_, _, crosses), size in busy.items():
            link = self.cross_host if crosses else self.same_host
            latency, flow = max(latency, link.latency), max(flow, size / link.bandwidth)
        members = 0.0 if any(crosses for _, _, crosses in busy) else (len(permutes) - 1) * self.same_host.member
        return self.launch + latency + flow + members

    def apart(self, permutes: Sequence[Collective], topology: Topology | None) -> float:
        """Time of the same permutes one after the other, after XLA has joined what it joins by itself."""
        joined: dict[object, list[Collective]] = {}
        for number, permute in enumerate(permutes):
            joined.setdefault(permute.canonical_pairs if self.joins_equal_pairs else number, []).append(permute)
        return sum(self.together(part, topology) for part in joined.values())

    def packed(self, permutes: Sequence[Collective], topology: Topology | None) -> float:
        """Time of one permute of the packed data: every byte is copied before and after."""
        copies = self.pack + 2 * sum(permute.bytes for permute in permutes) / self.copy
        extra = (len(permutes) - 1) * self.same_host.member
        return self.together(permutes, topology) + copies - (0.0 if _crosses(permutes, topology) else extra)

    def prefers_peer(self, launches: Sequence[tuple[int, int]]) -> bool:
        """Whether launches inside a host (bytes, times it runs) are faster as copies from device to device."""
        if self.peer is None:
            return False
        nccl, peer = self.same_host, self.peer
        gained = sum(size * times for size, times in launches) * (1 / nccl.bandwidth - 1 / peer.bandwidth)
        lost = sum(times for _, times in launches) * (peer.latency - nccl.latency) + len(launches) * self.peer_once
        return gained > lost


def _crosses(permutes: Sequence[Collective], topology: Topology | None) -> bool:
    return topology is not None and any(topology.any_crosses(permute.pairs) for permute in permutes)


def _gpu(name: str, launch: float, same_host: Link, cross_host: Link, copy: float) -> Target:
    return Target(name, launch, same_host, cross_host, copy, joins_equal_pairs=True, has_groups=True)


# Sources. Cross-host latencies of h100 and b200 are XLA's own estimate for a collective-permute (45 + rtt, of which
# about a third was measured on A100 with HDR InfiniBand: 26 to 30 us; the third is used for all), bandwidths are the
# network card's in that estimate, and for a100 what was measured there (12 to 24 GB/s). Same-host bandwidths are half
# the NVLink datasheet figure, as one permute uses one direction: A100 600 GB/s, H100 900, B200 1800. Copy is the memory
# datasheet figure, halved for read and write: A100 2.0 TB/s, H100 3.35, B200 8.0. A launch is about 5 us of host time.
#
# Inside an H200 host, measured on two of them (docs/measurements.md): one permute 10.5 us + bytes / 264 GB/s; eight of
# 1 MiB that XLA joins 105 us, and packed into one 52; a copy of 2.9 TB/s. Copies from device to device run at 426 GB/s
# and start 12 to 21 us later, so that the two cross between 8 and 16 MiB, where also streams begin to gain. One
# permute of 16 MiB in a program of a quarter of a millisecond, run once, gained 16 us by it in the best of four runs,
# lost 54 in the worst, and 14 on average: 26 us more than in a loop keep on the safe side of that.
#
# gloo is two processes of four devices on two CPU cores: 64 permutes of 128 bytes took 20.0 ms apart and 2.1 packed, of
# 128 KiB 30.7 and 26.3; 16 of 4 MiB 46 apart and 145 packed. XLA:CPU runs up to 8 ops in a row
# (execute_sequential_num_thunks_threshold in its thunk_executor.h); sixteen slices of 8 KiB on four devices took 603 us
# from threads and 396 in two rows.
TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        _gpu("a100", 5.0, Link(5.0, 300e3), Link(27.0, 18e3), 1.0e6),
        _gpu("h100", 5.0, Link(5.0, 450e3), Link(27.0, 25e3), 1.7e6),
        dataclasses.replace(
            _gpu("h200", 5.0, Link(5.5, 264e3, member=12.0), Link(27.0, 25e3), 1.45e6),
            pack=4.0,
            peer=Link(24.0, 426e3),
            peer_once=26.0,
            stream_bytes=8 * 1024 * 1024,
        ),
        _gpu("b200", 5.0, Link(5.0, 900e3), Link(22.0, 50e3), 4.0e6),
        Target(
            "gloo",
            30.0,
            Link(60.0, 2e3),
            Link(280.0, 1e3),
            1.3e3,
            joins_equal_pairs=False,
            has_groups=False,
            row=8,
            is_gpu=False,
        ),
    )
}
DEFAULT = TARGETS["h200"]


def named(name: str) -> Target:
    """The target of this name. Raises TargetError with the names there are."""
    if name not in TARGETS:
        raise TargetError(f"there is no target '{name}'; there are {', '.join(TARGETS)}")
    return TARGETS[name]


def of_device(platform: str, kind: str) -> Target:
    """The target of a JAX device with this ``platform`` and ``device_kind``; the default where nothing is known."""
    if platform == "cpu":
        return TARGETS["gloo"]
    return next((target for name, target in TARGETS.items() if name in kind.lower()), DEFAULT)


def load(text: str) -> Target:
    """A target from JSON: ``{"base": "gloo", "launch": 30, "cross_host": {"latency": 280, "bandwidth": 1000}}``.

    What is not given is taken from the base. Raises TargetError.
    """
    try:
        given: Any = json.loads(text)
        base = TARGETS[given.pop("base")]
        for link in ("same_host", "cross_host"):
            if link in given:
                given[link] = dataclasses.replace(getattr(base, link), **given[link])
        target = dataclasses.replace(base, **given)
        links = (target.same_host, target.cross_host)
        numbers = [target.launch, target.copy, *(link.latency for link in links), *(link.bandwidth for link in links)]
        if not all(isinstance(number, int | float) and number > 0 for number in numbers):
            raise ValueError("every time and bandwidth is a number above 0")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TargetError(
            f"this is no target ({error}); give a JSON object with 'base', one of {', '.join(TARGETS)}, and the "
            "constants that differ: launch, copy, same_host and cross_host with latency and bandwidth"
        ) from error
    return target
