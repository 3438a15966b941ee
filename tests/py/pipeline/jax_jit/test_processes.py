"""A program of two processes over gloo: both derive the same modules, and compute what they did without us."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = pathlib.Path(__file__).with_name("two_processes.py")
GROUPS = "canonicalize-permutes,merge-cross-host-transfers{strategy=group},assign-collective-streams"


def run(pipeline: str) -> list[dict[str, Any]]:
    """What each of the two processes prints. Hash seeds differ, as on two machines."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "JAX_"))}
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(number), str(port), pipeline],
            env=environment | {"PYTHONHASHSEED": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], outputs
    return [json.loads(stdout.splitlines()[-1]) for stdout, _ in outputs]  # gloo prints before


@pytest.fixture(scope="module")
def plain() -> list[dict[str, Any]]:
    return run("")


@pytest.mark.parametrize(
    ("pipeline", "change"), [(GROUPS, "num-merged 2"), ("assign-collective-streams", "num-annotated 2")]
)
def test_two_processes_derive_the_same_module_and_results(
    pipeline: str, change: str, plain: list[dict[str, Any]]
) -> None:
    first, second = run(pipeline)
    assert first["modules"] == second["modules"]
    assert first["outcomes"] == {"ring": "rewritten", "_lambda": "unchanged"}
    assert change in first["changes"]["ring"]  # the topology came from the processes of the devices
    assert [first["results"], second["results"]] == [each["results"] for each in plain]
