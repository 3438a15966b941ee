"""Joins processes by ``jax.distributed``, and lets them tell each other something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def join(coordinator: str, processes: int, process: int) -> None:
    """Makes this one of several processes whose CPU devices together are jax's; they talk over gloo.

    coordinator: host:port, where process 0 listens. Before jax has any devices.
    """
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, processes, process)


def exchange(name: str, value: str, processes: Sequence[int], seconds: float) -> list[str]:
    """Tells these processes a value, and gives what each of them tells; [] without ``jax.distributed``.

    name: of this exchange; it is used but once. processes: that take part, this one among them.

    Raises what jaxlib raises when one says nothing in time.
    """
    import jax
    from jax._src import distributed

    client: Any = distributed.global_state.client
    if client is None:
        return []
    client.key_value_set(f"{name}/{jax.process_index()}", value)
    return [client.blocking_key_value_get(f"{name}/{process}", int(1000 * seconds)) for process in processes]
