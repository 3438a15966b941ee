"""Topologies as XLA:GPU spells them."""

from __future__ import annotations

import re

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine.topology import Topology

_OF_XLA = re.compile(r"(\d+)x(\d+)x(\d+)")


def pass_topology(given: Topology | str | None) -> Topology | str | None:
    """What passes are told where XLA is told `given`: of XLA's own three numbers the hosts, each with its devices."""
    if not isinstance(given, str) or (match := _OF_XLA.fullmatch(given.strip())) is None:
        return given
    return f"{int(match[1]) * int(match[2])}x{match[3]}"


def xla_topology(given: Topology | str | None, devices: int) -> str:
    """NVLink domains x hosts in each x GPUs per host, for a module on `devices` devices.

    given: ``2x4`` is two hosts of four, each an NVLink domain of its own; three numbers are XLA's own text; a Topology
    or a JSON list of each partition's host must be even; None is one host. Raises TopologyError.
    """
    if given is None:
        return f"1x1x{devices}"
    text = given if isinstance(given, str) else str(list(given.host))
    if match := _OF_XLA.fullmatch(text.strip()):
        size = int(match[1]) * int(match[2]) * int(match[3])
        spelled = match[0]
    else:
        spelled, size = _even(Topology.parse(given) if isinstance(given, str) else given, text)
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
