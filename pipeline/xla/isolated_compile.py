"""Compiles a module with the real XLA:GPU compiler, in a child process, and brings home what XLA wrote about it."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
from typing import Literal, TypeAlias

from hloverlap.pipeline.children import ends
from hloverlap.pipeline.xla import complaints
from hloverlap.pipeline.xla.compile_child import MISSING, NOT_TAKEN, REFUSED

TIME_LIMIT = 300.0  # seconds for one compile; the corpus takes 2 to 20
GPU_EXTRA = "install the gpu extra: pip install 'hloverlap[gpu]' (jax[cuda13-local] and nvidia-cuda-nvcc)"

_NO_PTXAS = re.compile(r"No PTX compilation provider|Failed to launch ptxas|Couldn't (?:get|parse) ptxas")

Option = tuple[str, int | bool | str]


@dataclasses.dataclass(frozen=True)
class Request:
    """Asks for one compile."""

    module: bytes
    """MLIR bytecode."""
    backend: str
    """``gpu`` or ``cpu``; the latter takes neither target nor topology."""
    target_config: str
    """The text of a GpuTargetConfigProto, "" for the GPU that is there."""
    topology: str
    """XLA's text, e.g. ``2x1x4``."""
    replicas: int
    partitions: int
    shardy: bool
    """Whether the module's shardings are Shardy's."""
    options: tuple[Option, ...] = ()
    """XLA's options in the order of their names."""


@dataclasses.dataclass(frozen=True)
class Dump:
    """What XLA wrote about a compile."""

    thunk_sequence: str
    """The thunks of the executor. XLA:CPU writes none: ""."""
    thunk_metadata: str
    """The HLO instructions of the thunks. XLA:CPU writes none: ""."""
    hlo: str
    """The scheduled HLO."""
    memory: str
    """The memory report."""


FailureKind: TypeAlias = ends.Kind | Literal["request"]


@dataclasses.dataclass(frozen=True)
class Failure:
    """Says why no program came out."""

    kind: FailureKind
    """How the compile ended (see children.ends): of these, only what XLA said is about the module. ``refused`` is an
    error that XLA returned, ``unavailable`` means no compiler to ask, and ``request`` an option or a target that XLA
    does not take."""
    message: str
    """XLA's words, one line."""

    @property
    def is_xlas(self) -> bool:
        """Says whether XLA gave this answer, and will give it again."""
        return self.kind in ends.SPOKEN


_NO_LIBDEVICE = Failure("unavailable", f"XLA:GPU has no CUDA compiler files to work with; {GPU_EXTRA}")


def compile_module(request: Request, time_limit: float = TIME_LIMIT) -> Dump | Failure:
    """Compiles once; `time_limit` is in seconds. XLA_FLAGS of the environment do not count: the request says all."""
    import tempfile  # an answer from the cache does without

    with tempfile.TemporaryDirectory(prefix="hlo-audit-") as name:
        folder = pathlib.Path(name)
        (folder / "module.mlirbc").write_bytes(request.module)
        described = {key: value for key, value in dataclasses.asdict(request).items() if key != "module"}
        described["options"] = dict(request.options)
        (folder / "request.json").write_text(json.dumps(described), encoding="utf-8")
        end = _run_child(folder, time_limit, request)
        if end.kind == "ok":
            return _read_dump(folder / "dump")
        if end.status in (REFUSED, MISSING, NOT_TAKEN):
            return refusal((folder / "error.txt").read_text(encoding="utf-8"), end.status)
        return _failure(end)


def workers() -> int:
    """Says how many compiles run side by side: as many as there are cores for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run_child(folder: pathlib.Path, time_limit: float, request: Request) -> ends.End:
    from hloverlap.pipeline.children import child  # an answer from the cache does without

    devices = request.replicas * request.partitions if request.backend == "cpu" else 0
    command = child.python("hloverlap.pipeline.xla.compile_child", folder)
    with child.Child(command, child.environment(devices), time_limit) as compiling:
        return compiling.end()


def refusal(text: str, status: int) -> Failure:
    """Reads an error that XLA or jax raised, from the text and the exit status of the child that says so."""
    if _NO_PTXAS.search(text):
        return Failure("unavailable", f"XLA:GPU has no ptxas to compile with; {GPU_EXTRA}")
    if "libdevice not found" in text:
        return _NO_LIBDEVICE
    if status == MISSING or "topology not implemented for" in text:
        return Failure("unavailable", f"no XLA:GPU compiler for this jax; {GPU_EXTRA}")
    if "No visible GPU devices" in text:
        return Failure("unavailable", "no GPU is visible here; name a target, such as h200")
    line = complaints.sentence(text)
    if ends.is_exhaustion(line):
        return Failure("exhausted", line)
    return Failure("request" if status == NOT_TAKEN else "refused", line)


def _failure(end: ends.End) -> Failure:
    if "Can't find libdevice" in end.stderr:
        return _NO_LIBDEVICE
    hint = f"; {GPU_EXTRA}" if end.kind == "unavailable" and "No module named 'jax" in end.message else ""
    return Failure(end.kind, end.message + hint)


def _read_dump(folder: pathlib.Path) -> Dump | Failure:
    """Reads the texts of the one module that was compiled."""

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
