"""Says where each partition is: its host, its process, and what a message between two of them crosses."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from collections.abc import Sequence
from typing import Any

from hloverlap.passes.errors import TopologyError

Pair = tuple[int, int]
Places = tuple[int, ...]

FORMS = (
    "HOSTSxDEVICES, such as 2x4; HOSTSxPROCESSESxDEVICES, such as 2x4x1 for 2 hosts with 4 processes of 1 device each; "
    'or JSON, such as {"host":[0,0,1,1],"process":[0,1,2,3]}'
)
"""What `Topology.parse` reads, for a message."""


class Span(enum.Enum):
    """Names what the data of a source/target pair crosses. Each value is a clause for a message."""

    PROCESS = "inside a process"
    """Nothing: one process owns both devices, or they are one device."""

    HOST = "between processes of a host"

    NETWORK = "between hosts"

    INSIDE_HOST = "inside a host, and nobody said which process owns which device"

    BETWEEN_PROCESSES = "between processes, and nobody said which host has which"


@dataclasses.dataclass(frozen=True)
class Topology:
    """Says where the partitions are: positions in ``mesh.devices.flat``, never device ids."""

    host: Places | None
    """The host of each partition: what NVLink, shared memory or one board joins. None where nobody said."""

    process: Places | None = None
    """The process that owns each partition's device. None where nobody said. One of the two is said."""

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Reads one of `FORMS`, or a JSON list of each partition's host. Raises TopologyError.

        The three numbers are also how XLA:GPU spells a topology: NVLink domains, processes in each, GPUs of each. With
        two nobody has said what the processes are.
        """
        if match := re.fullmatch(r"(\d+)(?:x(\d+))?x(\d+)", text.strip()):
            hosts, devices = int(match[1]), int(match[3])
            processes = None if match[2] is None else int(match[2])
            if hosts and devices and processes != 0:
                return cls.regular(hosts, processes, devices)
        try:
            said = json.loads(text)
        except ValueError:
            said = None
        if isinstance(said, list):
            said = {"host": said}
        if isinstance(said, dict):
            return cls._of_table(said, text)
        raise TopologyError(f"topology '{text}' is none of {FORMS}")

    @classmethod
    def regular(cls, hosts: int, processes: int | None, devices: int) -> Topology:
        """Makes one of equal hosts, in order: `processes` on each, of `devices` each; None for unknown processes."""
        owners = hosts * (processes or 1)
        process = tuple(owner for owner in range(owners) for _ in range(devices))
        host = tuple(owner // (processes or 1) for owner in process)
        return cls(host, None if processes is None else process)

    @classmethod
    def _of_table(cls, said: dict[str, Any], text: str) -> Topology:
        if unknown := sorted(said.keys() - {"host", "process"}):
            raise TopologyError(f"topology '{text}' has '{unknown[0]}', and can have 'host' and 'process'")
        host, process = (cls._places(said.get(name), name, text) for name in ("host", "process"))
        if host is None and process is None:
            raise TopologyError(f"topology '{text}' says neither the host nor the process of each partition")
        if host is not None and process is not None and len(host) != len(process):
            raise TopologyError(
                f"topology '{text}' has the host of {len(host)} partitions and the process of {len(process)}"
            )
        found = cls(host, process)
        if (split := found.split_process) is not None:
            raise TopologyError(f"topology '{text}' has process {split} on two hosts")
        return found

    @staticmethod
    def _places(said: Any, name: str, text: str) -> Places | None:
        if said is None:
            return None
        if isinstance(said, list) and said and all(type(number) is int and number >= 0 for number in said):
            return tuple(said)
        raise TopologyError(f"the {name} of topology '{text}' is no list of numbers from 0 up, one a partition")

    def __str__(self) -> str:
        """Writes the topology as `parse` reads it."""
        if (counts := self.counts) is not None:
            return "x".join(str(number) for number in counts if number is not None)
        said = {"host": self.host, "process": self.process}
        table = {name: places for name, places in said.items() if places is not None}
        return json.dumps(self.host if list(table) == ["host"] else table, separators=(",", ":"))

    @property
    def size(self) -> int:
        """Counts the partitions."""
        return len(self._said)

    @property
    def counts(self) -> tuple[int, int | None, int] | None:
        """Counts hosts, processes on each and devices of each, where `regular` makes this of them, else None."""
        if self.host is None:
            return None
        hosts, owners = len(set(self.host)), len(set(self.process or self.host))
        processes = None if self.process is None else max(1, owners // hosts)
        found = hosts, processes, max(1, self.size // owners)
        return found if self == Topology.regular(*found) else None

    def span(self, pair: Pair) -> Span:
        """Says what the data of this (source, target) pair crosses; pairs out of range cross nothing."""
        source, target = pair
        if source == target or min(pair) < 0 or max(pair) >= self.size:
            return Span.PROCESS
        if self.process is not None and self.process[source] == self.process[target]:
            return Span.PROCESS
        if self.host is None:
            return Span.BETWEEN_PROCESSES
        if self.host[source] != self.host[target]:
            return Span.NETWORK
        return Span.INSIDE_HOST if self.process is None else Span.HOST

    def of_partitions(self, places: Sequence[int]) -> Topology:
        """Takes the places in this topology of the partitions of a module: they may be fewer, and in another order."""
        host, process = (
            None if said is None else tuple(said[place] for place in places) for said in (self.host, self.process)
        )
        return Topology(host, process)

    def completed(self, other: Topology) -> Topology:
        """Takes from another topology of the same partitions what this one does not say, unless the two disagree."""
        found = Topology(self.host or other.host, self.process or other.process)
        return found if found.split_process is None else self

    @property
    def split_process(self) -> int | None:
        """Finds a process that is on two hosts, which none can be; None where there is no such process."""
        if self.host is None or self.process is None:
            return None
        owner: dict[int, int] = {}
        return next(
            (
                process
                for process, host in zip(self.process, self.host, strict=True)
                if owner.setdefault(process, host) != host
            ),
            None,
        )

    @property
    def _said(self) -> Places:
        said = self.process if self.host is None else self.host
        assert said is not None, "a topology says hosts or processes"
        return said
