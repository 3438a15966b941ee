"""Which host each partition lives on."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable

from hloverlap.passes.errors import TopologyError

Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Topology:
    """host[p] is the host of partition p; a partition is a position in ``mesh.devices.flat``, never a device id."""

    host: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Reads ``HxD`` (H hosts of D devices each) or a JSON list that gives each partition's host.

        Raises TopologyError.
        """
        if match := re.fullmatch(r"(\d+)x(\d+)", text.strip()):
            hosts, devices = int(match[1]), int(match[2])
            if hosts and devices:
                return cls(tuple(host for host in range(hosts) for _ in range(devices)))
        try:
            listed = json.loads(text)
        except ValueError:
            listed = None
        if isinstance(listed, list) and listed and all(type(host) is int and host >= 0 for host in listed):
            return cls(tuple(listed))
        raise TopologyError(
            f"topology '{text}' is neither HOSTSxDEVICES, such as 2x4, nor a JSON list of each partition's host, "
            "such as [0,0,1,1]"
        )

    @property
    def size(self) -> int:
        """Number of partitions."""
        return len(self.host)

    def crosses(self, pair: Pair) -> bool:
        """Whether data of this (source, target) pair leaves its host. Pairs out of range do not."""
        source, target = pair
        return min(pair) >= 0 and max(pair) < self.size and self.host[source] != self.host[target]

    def any_crosses(self, pairs: Iterable[Pair]) -> bool:
        """Whether at least one pair leaves its host."""
        return any(map(self.crosses, pairs))
