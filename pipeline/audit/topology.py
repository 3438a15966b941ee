"""Spells topologies as XLA:GPU does."""

from __future__ import annotations

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine.topology import Topology


def xla_topology(topology: Topology | None, devices: int) -> str:
    """Spells NVLink domains x hosts in each x GPUs per host, for a module on `devices` devices.

    None is one host of all of them. Raises TopologyError where XLA cannot be told, or there are too few devices.
    """
    if topology is None:
        return f"1x1x{devices}"
    if topology.size < devices:
        raise TopologyError(f"topology '{topology}' has {topology.size} devices but the module is for {devices}")
    hosts = list(dict.fromkeys(topology.host))
    each = topology.size // len(hosts)
    if topology.host != tuple(host for host in hosts for _ in range(each)):
        raise TopologyError(
            f"topology '{topology}' cannot be told to XLA, which numbers the devices host by host, as many on each"
        )
    return f"{len(hosts) // topology.hosts_per_domain}x{topology.hosts_per_domain}x{each}"
