"""Spells topologies as XLA:GPU does."""

from __future__ import annotations

from hloverlap.passes.errors import TopologyError
from hloverlap.passes.machine.topology import Topology


def xla_topology(topology: Topology | None, devices: int) -> str:
    """Spells NVLink domains x processes in each x GPUs of each, for a module on `devices` devices.

    None is one process of all of them; where a topology does not say the processes, each host is one. XLA calls the
    second number hosts, but counts processes: xla/pjrt/distributed/topology_util.cc, BuildGpuTopology. Raises
    TopologyError where XLA cannot be told, or there are too few devices.
    """
    if topology is None:
        return f"1x1x{devices}"
    if topology.size < devices:
        raise TopologyError(f"topology '{topology}' has {topology.size} devices but the module is for {devices}")
    if topology.host is None:
        raise TopologyError(f"topology '{topology}' cannot be told to XLA: it does not say the host of each partition")
    if (counts := Topology(_numbered(topology.host), _numbered(topology.process)).counts) is None:
        raise TopologyError(
            f"topology '{topology}' cannot be told to XLA, which numbers the devices host by host and process by "
            "process, as many on each"
        )
    domains, processes, each = counts
    return f"{domains}x{processes or 1}x{each}"


def _numbered(places: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Gives the same places, numbered in order of their first partition."""
    if places is None:
        return None
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return tuple(numbers[place] for place in places)
