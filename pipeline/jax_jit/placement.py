"""Says what the devices of a lowering are, and where: their machine, and the host and the process of each partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology

if TYPE_CHECKING:
    import jax


def target_of(devices: Sequence[jax.Device]) -> Target | None:
    """Gives the machine of these devices; None when there are none."""
    return targets.of_device(devices[0].platform, devices[0].device_kind) if devices else None


def topology_of(devices: Sequence[jax.Device]) -> Topology | None:
    """Says the host and the process of each partition, as far as jax knows; None when there are no devices.

    The process is ``process_index``. The host is ``slice_index``: XLA gives GPUs of one NVLink domain the same, and
    where the driver knows of none, and on CPUs, the devices of one machine (xla/pjrt/distributed/topology_util.cc,
    BuildGlobalTopology). Devices that are only compiled for all have 0, which says nothing.
    """
    if not devices:
        return None
    process = tuple(device.process_index for device in devices)
    if len(set(process)) == 1:
        return Topology((0,) * len(devices), process)
    if _is_only_compiled_for(devices[0]):
        return Topology(None, process)
    host = [index for device in devices if (index := getattr(device, "slice_index", None)) is not None]
    return Topology(tuple(host) if len(host) == len(devices) else None, process)


def placed(given: Topology | None, devices: Sequence[jax.Device]) -> Topology | None:
    """Says where the partitions are on these devices, where the user has said it of the devices that there are.

    given: of all devices, in the order of ``jax.devices()``, of which a mesh may have fewer, or in another order; or of
    the partitions themselves. Where it is neither, it says nothing of these devices, and jax is asked. What it does not
    say, hosts or processes, is as jax says, where the two fit.
    """
    known = topology_of(devices)
    if given is None or known is None:
        return given or known
    places = _places(devices)
    if places is not None and max(places) < given.size:
        return given.of_partitions(places).completed(known)
    return given.completed(known) if given.size == known.size else known


def _places(devices: Sequence[jax.Device]) -> list[int] | None:
    """Gives the position of each among all devices of its backend; None where there is no telling."""
    client: Any = getattr(devices[0], "client", None)
    if client is None:
        return None
    positions = {device: number for number, device in enumerate(client.devices())}
    return [positions[device] for device in devices] if positions.keys() >= set(devices) else None


def _is_only_compiled_for(device: jax.Device) -> bool:
    client: Any = getattr(device, "client", None)
    return client is not None and client.runtime_type == "compile_only_runtime"
