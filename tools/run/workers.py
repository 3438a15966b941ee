"""Lets the Python processes that a program under hlo-run starts inherit the setting, and collects their records.

A process that Python starts finds a ``sitecustomize`` of ours on PYTHONPATH, which calls `join`. One that is forked
has the hook of its parent. Each writes what it compiles into a folder as soon as it is compiled, since many workers end
by a signal; hlo-run's own process reads them at its end. Nothing here may load jax: see `import_hook`.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import pickle
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import hloverlap
from hloverlap.pipeline.jax_jit import import_hook
from hloverlap.pipeline.jax_jit.import_hook import State

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.records import CompileRecord

VARIABLE = "HLOVERLAP_RUN"

_SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


@dataclasses.dataclass(frozen=True)
class Process:
    """Says what became of one process of a run."""

    pid: int
    state: State
    """Whether it imported jax, and whether the pipeline was installed."""
    records: tuple[CompileRecord, ...] = ()
    """In order of compilation."""
    dropped: int = 0
    """How many more records there were."""


class Shared:
    """Holds the setting that all processes of one run have, and the folder in which they leave their records.

    The folder is made by the first that has something to leave, so a run without such processes leaves nothing behind
    even where it is killed.
    """

    def __init__(self, folder: str, owner: int) -> None:
        self._folder, self._owner = folder, owner
        self._pid = 0  # whose count this is: a fork has its parent's
        self._count = 0

    def install(self, arguments: Mapping[str, Any]) -> State:
        """Installs the pipeline in this process and in what it forks, as soon as jax is imported."""
        return import_hook.install_with_jax(self._imported, self._add, **arguments)

    def collect(self) -> list[Process]:
        """Reads what other processes have left so far, in the order in which they began, and takes the folder away."""
        paths = []
        with contextlib.suppress(OSError):
            paths = [entry.path for entry in os.scandir(self._folder)]
        found = [_read(path) for path in sorted(paths, key=lambda path: (os.stat(path).st_ino, path))]
        shutil.rmtree(self._folder, ignore_errors=True)
        return found

    def _imported(self, state: State) -> None:
        self._leave(state)

    def _add(self, record: CompileRecord) -> None:
        from hloverlap.pipeline.jax_jit.records import MOST_RECORDS

        if self._pid != os.getpid():
            self._pid, self._count = os.getpid(), 0
        self._count += 1
        self._leave(record if self._count <= MOST_RECORDS else None)

    def _leave(self, what: State | CompileRecord | None) -> None:
        """Adds to the file of this process. One write of a whole entry needs no lock, which a fork might inherit held.

        The program shall run, whatever becomes of its records.
        """
        if os.getpid() == self._owner:
            return
        with contextlib.suppress(OSError):
            if not os.path.exists(self._folder):
                os.kill(self._owner, 0)  # raises where nobody is left to read it
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self._folder, 0o700)
            path = os.path.join(self._folder, str(os.getpid()))
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, pickle.dumps(what))
            finally:
                os.close(file)


def share(arguments: Mapping[str, Any]) -> Shared:
    """Has every Python process that is started from now on take part. arguments: as for ``interface.install``."""
    owner = os.getpid()
    folder = os.path.join(tempfile.gettempdir(), f"hlo-run-{owner}-{secrets.token_hex(8)}")
    setting = {
        "arguments": base64.b64encode(pickle.dumps(dict(arguments))).decode(),  # a target is an object
        "folder": folder,
        "owner": owner,
        "package": os.path.abspath(str(hloverlap.__file__)),
        "prefix": sys.prefix,
        "version": sys.version,
    }
    os.environ[VARIABLE] = json.dumps(setting)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_SITE, os.environ.get("PYTHONPATH")]))
    return Shared(folder, owner)


def join(setting: Mapping[str, Any]) -> None:
    """Takes part, in a process that a program under hlo-run has started. setting: what `share` wrote."""
    Shared(setting["folder"], setting["owner"]).install(pickle.loads(base64.b64decode(setting["arguments"])))


def _read(path: str) -> Process:
    """Reads what one process has left; a last entry that is not whole, as of one that was killed, is passed over."""
    state, records, dropped = State(), [], 0
    state.imported = True  # a fork of a process that had done so does not say it
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError), open(path, "rb") as file:
        while True:
            what = pickle.load(file)
            if isinstance(what, State):
                state = what
            elif what is None:
                dropped += 1
            else:
                records.append(what)
    return Process(int(os.path.basename(path)), state, tuple(records), dropped)
