"""Topologies as XLA:GPU spells them."""

from __future__ import annotations

import re

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine.topology import Topology


def xla_topology(text: str | None, devices: int) -> str:
    """NVLink domains x hosts in each x GPUs per host, for a module on `devices` devices.

    text: ``2x4`` is two hosts of four, each an NVLink domain of its own; three numbers are XLA's own text; a JSON list
    of each partition's host must be even; None is one host. Raises TopologyError.
    """
    if text is None:
        return f"1x1x{devices}"
    if match := re.fullmatch(r"(\d+)x(\d+)x(\d+)", text.strip()):
        size = int(match[1]) * int(match[2]) * int(match[3])
        spelled = match[0]
    else:
        spelled, size = _even(Topology.parse(text), text)
    if size < devices or not size:
        raise TopologyError(f"topology '{text}' has {size} devices but the module is for {devices}")
    return spelled


def _even(topology: Topology, text: str) -> tuple[str, int]:
    hosts = list(dict.fromkeys(topology.host))
    each = topology.size // len(hosts)
    if topology.host != tuple(host for host in hosts for _ in range(each)):
        raise TopologyError(
            f"topology '{text}' cannot be told to XLA, which numbers the devices host by host, as many on each"
        )
    return f"{len(hosts)}x1x{each}", topology.size
