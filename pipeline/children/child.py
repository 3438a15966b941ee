"""Starts a process in a group of its own, limits its time, and ends it with all that it started."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import IO

import hloverlap
from hloverlap.pipeline.children import ends, start
from hloverlap.pipeline.children.ends import End

# Variables by which a caller sets up its own jax and XLA; they would change how a child compiles and runs, and XLA
# aborts on flags that it does not know.
# Where a program under hlo-run uses hloverlap, the last one would have the pipeline installed in our own children.
_SETTINGS = ("JAX_", "XLA_", "TF_", "HLOVERLAP_RUN")
_WORDS = 1 << 20  # bytes of stderr that are read: an abort's first words and a traceback's last are among them

_running: set[Child] = set()


def python(module: str, *arguments: object) -> list[str]:
    """Gives the command that runs a module as ``python -m`` does, with this process's own hloverlap.

    The child is killed when this process dies. It imports nothing from the current folder.
    """
    package = os.path.abspath(str(hloverlap.__file__))
    return [sys.executable, "-P", start.__file__, str(os.getpid()), package, module, *map(str, arguments)]


def environment(devices: int = 0, given: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Gives the variables that a child sees: the caller's, without its settings of jax and XLA, and those given here.

    devices: virtual CPU devices that XLA makes; 0 leaves that to the child. jax starts on the CPU unless `given` has
    another JAX_PLATFORMS: otherwise its CUDA plugin looks for a GPU, and complains at length where there is none.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    kept["JAX_PLATFORMS"] = "cpu"
    if devices:
        kept["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return {**kept, **given}


class Child:
    """A process. Leaving the ``with`` ends it and all that it has started."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        time_limit: float = math.inf,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        """Starts it. time_limit: seconds. environment: None for this process's own. stdin, stdout: as for Popen."""
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._unavailable = ""
        self._late = False
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        self._timer = threading.Timer(min(time_limit, threading.TIMEOUT_MAX), self._give_up)
        self._timer.daemon = True
        try:
            self._process = subprocess.Popen(
                command, env=environment, stdin=stdin, stdout=stdout, stderr=self._stderr, start_new_session=True
            )
        except OSError as error:
            self._unavailable = error.strerror or str(error)
            return
        _running.add(self)
        if time_limit < math.inf:
            self._timer.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def is_over(self) -> bool:
        """Tells whether it has ended."""
        return self._process is None or self._process.poll() is not None

    def ask(self, line: bytes) -> bytes:
        """Writes a line to stdin and gives the line that it answers, b"" where it ends instead; both are pipes."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()
        return process.stdout.readline()

    def communicate(self, data: bytes) -> bytes:
        """Hands over all of stdin, and gives all of stdout; both are pipes."""
        return self._process.communicate(data)[0] if self._process is not None else b""

    def end(self) -> End:
        """Waits for its end, and says which one it is."""
        if self._process is None:
            return End("unavailable", self._unavailable)
        status = self._process.wait()
        self.kill()
        if self._late:
            return End("timeout", f"no end within {self._time_limit:g} s", status)
        return ends.read(status, self._words())

    def kill(self) -> None:
        """Ends it and what it has started, at once."""
        if self._process is None:
            return
        self._timer.cancel()
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter is macOS's word for the former
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        _running.discard(self)

    def stop(self) -> None:
        """Ends it, and lets go of its files; after this it cannot be asked any more."""
        self.kill()
        for file in (self._stderr, *((self._process.stdin, self._process.stdout) if self._process else ())):
            if file is not None:
                with contextlib.suppress(OSError):  # what stdin still holds nobody will read
                    file.close()

    def _give_up(self) -> None:
        self._late = not self.is_over()
        self.kill()

    def _words(self) -> str:
        """Reads what it wrote on stderr; the middle of very much is left out."""
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(0)
        if size <= _WORDS:
            return self._stderr.read().decode(errors="replace")
        first = self._stderr.read(_WORDS // 2)
        self._stderr.seek(-_WORDS // 2, os.SEEK_END)
        return (first + b"\n" + self._stderr.read()).decode(errors="replace")


def run(
    module: str, arguments: Sequence[object] = (), data: bytes = b"", time_limit: float = math.inf
) -> tuple[End, bytes]:
    """Runs a module of this package to its end on `data` as stdin; gives the end and what it wrote on stdout."""
    with Child(python(module, *arguments), environment(), time_limit, subprocess.PIPE, subprocess.PIPE) as child:
        written = child.communicate(data)
        return child.end(), written


def stop_all() -> None:
    """Ends every child of this process, for when the user has had enough; whoever waits for one sees it ``killed``."""
    for child in list(_running):
        child.kill()
