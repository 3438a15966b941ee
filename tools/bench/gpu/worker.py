"""Measures in a process of its own, which may die of it: ``python -m hloverlap.tools.bench.gpu.worker FOLDER``.

FOLDER holds ``order.json``; what happens goes to ``journal.jsonl``, traces to ``traces``.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hloverlap.tools.bench.gpu.journal import Journal, Order

if TYPE_CHECKING:
    import jax

    from hloverlap.tools.bench.gpu.cases import Case

FAULT = 3  # exit status: a program failed while it ran, which may have left the devices in a bad state
_LEAST_SECONDS = 12.0  # for one more case


def main(folder: pathlib.Path) -> int:
    """Works through the order; returns the exit status."""
    order = Order.read(folder / "order.json")
    journal = Journal(folder / "journal.jsonl")
    journal.write("at", case="", variant="", phase="start")
    devices = _devices(order)
    journal.write("machine", **_machine(devices))
    from hloverlap.tools.bench.gpu.cases import cases
    from hloverlap.tools.bench.gpu.runner import Runner

    if order.mode == "measure" and len(devices) == 1:  # the rest of the time is for compiling what one cannot run
        order = dataclasses.replace(order, deadline=(time.time() + order.deadline) / 2)
    runner = Runner(order, journal, devices, folder)
    for case in cases(len(devices), order.tiny):
        if case.name in order.done or not _is_wanted(case, order):
            continue
        if time.time() + _LEAST_SECONDS > order.deadline:
            journal.write("skipped", case=case.name, reason="no time was left")
            continue
        if not runner.run(case):
            return FAULT
    journal.write("finished")
    return 0


def _is_wanted(case: Case, order: Order) -> bool:
    return not order.only or any(part in case.name for part in order.only)


def _devices(order: Order) -> Sequence[jax.Device]:
    if order.mode == "compile":
        os.environ["JAX_PLATFORMS"] = "cpu"  # else the CUDA plugin looks for a GPU and complains at length
        from jax.experimental import topologies

        from hloverlap.passes.machine import targets

        config = targets.find(order.target).gpu_target_config
        topology = f"1x1x{order.devices}"
        found: Sequence[jax.Device] = topologies.get_topology_desc(
            platform="cuda", topology=topology, target_config=config
        ).devices
        return found
    import jax

    if order.platform:
        jax.config.update("jax_platforms", order.platform)
    if order.platform == "cpu" and order.devices:
        jax.config.update("jax_num_cpu_devices", order.devices)
    return jax.devices()[: order.devices or None]


def _machine(devices: Sequence[jax.Device]) -> dict[str, Any]:
    import jax
    import jaxlib.version

    return {
        "devices": len(devices),
        "kind": devices[0].device_kind,
        "platform": devices[0].platform,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "python": platform.python_version(),
        "xla_version": getattr(devices[0].client, "platform_version", ""),
    }


if __name__ == "__main__":
    status = main(pathlib.Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(status)  # a broken communicator must not hold up the end
