"""The child processes of a check in which the devices are spread over several processes, as over hosts."""

from __future__ import annotations

import json
import pathlib
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

_POLL = 0.02  # seconds


def answers(
    command: Sequence[str], folder: pathlib.Path, environment: Mapping[str, str], processes: int, time_limit: float
) -> list[dict[str, Any]]:
    """Runs `command` with each process's number after it until all have answered, one says no, or time is over.

    Returns the answers, the telling one first; for a process that ended without one, ``{"ended": how, "stage": …}``.
    """
    outputs = [folder / f"stdout-{number}" for number in range(processes)]
    children = []
    try:
        for number, output in enumerate(outputs):
            with output.open("wb") as stdout, (folder / f"stderr-{number}").open("wb") as stderr:
                children.append(
                    subprocess.Popen(
                        [*command, str(number)], env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
                    )
                )
        deadline = time.monotonic() + time_limit
        while time.monotonic() < deadline:
            over = [child.poll() is not None for child in children]
            found = [_answer(output, folder / f"stderr-{n}", over[n]) for n, output in enumerate(outputs)]
            telling = [answer for answer in found if answer is not None and answer.get("status") != "equal"]
            if telling or all(found):
                return telling + [answer for answer in found if answer is not None and answer not in telling]
            time.sleep(_POLL)
        return [{"ended": f"there was no end within {time_limit:g} s", "stage": _last_stage(outputs[0]), "late": True}]
    finally:
        for child in children:
            child.kill()
            child.wait()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answer(output: pathlib.Path, stderr: pathlib.Path, over: bool) -> dict[str, Any] | None:
    for line in _lines(output):
        if "status" in line:
            return line
    if not over:
        return None
    words = stderr.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
    return {"ended": f"a process ended: {words[-1]}", "stage": _last_stage(output), "late": False}


def _last_stage(output: pathlib.Path) -> str:
    return next((line["stage"] for line in reversed(_lines(output))), "starting the processes")


def _lines(output: pathlib.Path) -> list[dict[str, Any]]:
    """The whole lines so far."""
    text = output.read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("{")]
