"""Compiles a module with the real XLA:GPU compiler, in a child process, and brings home what XLA wrote about it."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import sys
from typing import TYPE_CHECKING

from hloverlap.pipeline.xla.compile_child import REFUSED

if TYPE_CHECKING:
    import subprocess

TIME_LIMIT = 300.0  # seconds for one compile; the corpus takes 2 to 20
GPU_EXTRA = "install the gpu extra: pip install 'hloverlap[gpu]' (jax[cuda13-local] and nvidia-cuda-nvcc)"

_IS_REQUEST = re.compile(r"No such compile option|[Oo]ption.*is not a valid|[Ff]ailed to parse|[Cc]ould not parse")

_running: set[subprocess.Popen[bytes]] = set()

Option = tuple[str, int | bool | str]


@dataclasses.dataclass(frozen=True)
class Request:
    """One compile.

    module: MLIR bytecode. backend: ``gpu`` or ``cpu``; the latter takes neither target nor topology.
    target_config: GpuTargetConfigProto text, "" for the GPU that is there.
    topology: XLA's text, e.g. ``2x1x4``. shardy: whether the module's shardings are Shardy's.
    options: XLA options in the order of their names.
    """

    module: bytes
    backend: str
    target_config: str
    topology: str
    replicas: int
    partitions: int
    shardy: bool
    options: tuple[Option, ...] = ()


@dataclasses.dataclass(frozen=True)
class Dump:
    """What XLA wrote: the thunks of the executor, their HLO instructions, the scheduled HLO and the memory report.

    XLA:CPU writes no thunks: there the first two are "".
    """

    thunk_sequence: str
    thunk_metadata: str
    hlo: str
    memory: str


@dataclasses.dataclass(frozen=True)
class Failure:
    """No program came out.

    kind: ``aborted`` (a CHECK or a crash ended the process), ``refused`` (XLA returned an error), ``killed`` (from
    outside, as the kernel does when memory runs out), ``timeout``, ``unavailable`` (no compiler to ask) or ``request``
    (an option or a target that XLA does not take).
    message: XLA's words, one line.
    """

    kind: str
    message: str


def compile_module(request: Request, time_limit: float = TIME_LIMIT) -> Dump | Failure:
    """Compiles once; `time_limit` is in seconds. XLA_FLAGS of the environment do not count: the request says all."""
    import tempfile  # an answer from the cache does without

    with tempfile.TemporaryDirectory(prefix="hlo-audit-") as name:
        folder = pathlib.Path(name)
        (folder / "module.mlirbc").write_bytes(request.module)
        described = {key: value for key, value in dataclasses.asdict(request).items() if key != "module"}
        described["options"] = dict(request.options)
        (folder / "request.json").write_text(json.dumps(described), encoding="utf-8")
        status, stderr = _run_child(folder, time_limit, request)
        if status is None:
            return Failure("timeout", f"no answer within {time_limit:g} s")
        if status == REFUSED:
            return _refusal((folder / "error.txt").read_text(encoding="utf-8"))
        if status != 0:
            return _crash(status, stderr)
        return _read_dump(folder / "dump")


def workers() -> int:
    """How many compiles run side by side: as many as there are cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_child(folder: pathlib.Path, time_limit: float, request: Request) -> tuple[int | None, str]:
    """The child's exit status (None after the time limit) and what it wrote on stderr."""
    import subprocess

    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS" and not key.startswith("JAX_")}
    environment["JAX_PLATFORMS"] = "cpu"  # else the CUDA plugin looks for a GPU and complains at length
    if request.backend == "cpu":
        environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={request.replicas * request.partitions}"
    with (folder / "stderr").open("w+", encoding="utf-8", errors="replace") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "hloverlap.pipeline.xla.compile_child", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=environment,
            start_new_session=True,  # so that ptxas and its like end with it
        )
        _running.add(child)
        try:
            status: int | None = child.wait(time_limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _kill(child)
            _running.discard(child)
        stderr.seek(0)
        return status, stderr.read()


def stop_all() -> None:
    """Ends every compile of this process, for when the user has had enough; each comes back as ``killed``."""
    for child in list(_running):
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _refusal(text: str) -> Failure:
    if "No PTX compilation provider" in text:
        return Failure("unavailable", f"XLA:GPU has no ptxas to compile with; {GPU_EXTRA}")
    if "topology not implemented for" in text:
        return Failure("unavailable", f"no XLA:GPU compiler for this jax; {GPU_EXTRA}")
    if "No visible GPU devices" in text:
        return Failure("unavailable", "no GPU is visible here; name a target, such as h200")
    line = " ".join(text.split())
    return Failure("request" if _IS_REQUEST.search(line) else "refused", line)


def _crash(status: int, stderr: str) -> Failure:
    """A process that ended without an answer: the text of the check that failed, or the signal, or its last line."""
    if "Can't find libdevice" in stderr:
        return Failure("unavailable", f"XLA:GPU has no CUDA compiler files to work with; {GPU_EXTRA}")
    check = re.search(r"^F\d{4} [^\]]*\] (.*)$", stderr, re.MULTILINE)
    if check:
        return Failure("aborted", check[1].strip())
    if status < 0:
        name = signal.Signals(-status).name
        if status == -signal.SIGKILL:
            return Failure("killed", f"{name}, as when memory runs out")
        return Failure("killed" if status == -signal.SIGTERM else "aborted", f"{name}, without a word")
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else f"exit status {status}"
    if "No module named 'jax" in last:
        return Failure("unavailable", f"{last}; {GPU_EXTRA}")
    return Failure("aborted", last)


def _read_dump(folder: pathlib.Path) -> Dump | Failure:
    """The texts of the one module that was compiled."""

    def text(ending: str) -> str:
        found = sorted(folder.glob(f"*{ending}"))
        return found[0].read_text(encoding="utf-8", errors="replace") if found else ""

    dump = Dump(
        thunk_sequence=text(".thunk_sequence.txt"),
        thunk_metadata=text(".thunk_metadata.txt"),
        hlo=text("pu_after_optimizations.txt"),
        memory=text("pu_after_optimizations-memory-usage-report.txt"),
    )
    return dump if dump.hlo else Failure("refused", "XLA compiled the module but dumped no optimized HLO")
