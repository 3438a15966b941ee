"""Starts N processes of one program on this machine, joined by ``jax.distributed``, their CPU devices by gloo."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from hloverlap.passes.errors import HloverlapError
from hloverlap.pipeline.children import child
from hloverlap.pipeline.children.child import Child

_WAIT = 0.05  # seconds between two looks at the processes
_SELF = "HLOVERLAP_PROCESS"  # which process this is, for `join`


class LaunchError(HloverlapError):
    """A process failed or took too long; the text is one sentence."""


def launch(
    module: str, order: Any, processes: int, devices: int, seconds: float, sockets: bool = False
) -> list[list[Any]]:
    """Runs `module` as a program in so many processes with so many CPU devices each, and waits for their end.

    order: anything that JSON can say, for `join` to return. sockets: open those through which ``jax.device_put`` sends.
    Returns what each process said by `say`. Raises LaunchError, after it has ended all of them.
    """
    with tempfile.TemporaryDirectory(prefix="hloverlap-processes-") as name:
        folder = pathlib.Path(name)
        common = {"order": order, "processes": processes, "devices": devices, "port": free_port(), "sockets": sockets}
        with contextlib.ExitStack() as stack:
            running = [
                stack.enter_context(_start(module, {**common, "process": number}, folder))
                for number in range(processes)
            ]
            _wait(running, time.monotonic() + seconds, seconds)
        return [
            [json.loads(line) for line in (folder / f"{number}.said").read_text(encoding="utf-8").splitlines()]
            for number in range(processes)
        ]


def is_launched() -> bool:
    """Says whether this is a launched process."""
    return _SELF in os.environ


def join() -> Any:
    """Joins the others, in a launched process and before anything else of jax; returns the order."""
    given = json.loads(os.environ[_SELF])
    sys.excepthook = _end_at_once
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.config.update("jax_num_cpu_devices", given["devices"])
    if given["sockets"]:
        jax.config.update("jax_cross_host_transfer_socket_address", f"127.0.0.1:{free_port()}")
        jax.config.update("jax_cross_host_transport_addresses", "127.0.0.1:0,127.0.0.1:0")
    jax.distributed.initialize(f"127.0.0.1:{given['port']}", given["processes"], given["process"])
    return given["order"]


def meet(name: str, seconds: float) -> None:
    """Waits for all processes to come here, without a collective. name: used but once.

    Raises what jaxlib raises when time is up.
    """
    import jax

    from hloverlap.pipeline.jax_internals import distributed

    distributed.exchange(f"meet {name}", "here", range(jax.process_count()), seconds)


def _end_at_once(*error: Any) -> None:
    """Ends this process without what jax does at its end, which would wait for processes that wait for this one."""
    sys.__excepthook__(*error)
    sys.stderr.flush()
    os._exit(1)


def say(what: Any) -> None:
    """Hands something that JSON can say from a launched process to the launching one."""
    with open(json.loads(os.environ[_SELF])["said"], "a", encoding="utf-8") as file:  # gloo writes to stdout
        file.write(json.dumps(what) + "\n")


def elapsed(spans: Sequence[tuple[float, float]]) -> float:
    """Measures the seconds from when the last of the processes began until the last was done.

    spans: start and end in each, by ``time.monotonic()``, which all processes of a machine share. Until all have begun
    nothing can be done, and how far apart they begin is not the program's doing.
    """
    return max(end for _, end in spans) - max(start for start, _ in spans)


def _start(module: str, given: dict[str, Any], folder: pathlib.Path) -> Child:
    said = folder / f"{given['process']}.said"
    said.touch()
    task = json.dumps({**given, "said": str(said)})
    return Child(child.python(module), child.environment(given={_SELF: task}))


def _wait(running: Sequence[Child], deadline: float, seconds: float) -> None:
    while True:
        over = [process.is_over() for process in running]
        # One that failed leaves the others waiting for it; how it ended says more than how they do.
        for number, process in enumerate(running):
            if over[number] and (end := process.end()).kind != "ok":
                raise LaunchError(f"process {number} {end}")
        if all(over):
            return
        if time.monotonic() > deadline:
            late = [str(number) for number, is_over in enumerate(over) if not is_over]
            raise LaunchError(f"process {' and '.join(late)} did not end within {seconds:g} s")
        time.sleep(_WAIT)


def free_port() -> int:
    """Finds a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
