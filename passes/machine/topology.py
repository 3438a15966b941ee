"""Says which host each partition lives on."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable

from hloverlap.passes.errors import TopologyError

Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Topology:
    """Says where the partitions of a module are."""

    host: tuple[int, ...]
    """The host of each partition; a partition is a position in ``mesh.devices.flat``, never a device id."""

    hosts_per_domain: int = 1
    """How many hosts are one NVLink domain, for XLA:GPU."""

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Reads ``HxD`` (H hosts of D devices each), XLA's ``NxHxD`` (N NVLink domains of H hosts), or a JSON list.

        The list gives each partition's host. Raises TopologyError.
        """
        if match := re.fullmatch(r"(?:(\d+)x)?(\d+)x(\d+)", text.strip()):
            domains, hosts, devices = int(match[1] or 1), int(match[2]), int(match[3])
            if domains and hosts and devices:
                joined = hosts if match[1] else 1
                return cls(tuple(host for host in range(domains * hosts) for _ in range(devices)), joined)
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

    def __str__(self) -> str:
        """Writes the topology as `parse` reads it."""
        hosts, each = len(set(self.host)), self.host.count(self.host[0])
        if self.host != tuple(host for host in range(hosts) for _ in range(each)):
            return json.dumps(self.host, separators=(",", ":"))
        if self.hosts_per_domain == 1:
            return f"{hosts}x{each}"
        return f"{hosts // self.hosts_per_domain}x{self.hosts_per_domain}x{each}"

    @property
    def size(self) -> int:
        """Counts the partitions."""
        return len(self.host)

    def crosses(self, pair: Pair) -> bool:
        """Says whether data of this (source, target) pair leaves its host. Pairs out of range do not."""
        source, target = pair
        return min(pair) >= 0 and max(pair) < self.size and self.host[source] != self.host[target]

    def any_crosses(self, pairs: Iterable[Pair]) -> bool:
        """Says whether at least one pair leaves its host."""
        return any(map(self.crosses, pairs))
