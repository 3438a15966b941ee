"""Keeps answers on disk, by the content of the question. A lost or damaged entry is an answer to be found again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import hloverlap

SIZE_LIMIT = 64 << 20  # bytes; an answer is a few kilobytes
_SOURCES = ("passes", "pipeline")  # folders of the package: all that decides on an answer is in them
_LIBRARIES = re.compile(r"(?:jax|nvidia).*\.dist-info")  # jax, jaxlib, XLA's plugin for CUDA, ptxas


def folder() -> pathlib.Path:
    """Gives ``$HLOVERLAP_CACHE``, else ``$XDG_CACHE_HOME/hloverlap``, else ``~/.cache/hloverlap``."""
    if own := os.environ.get("HLOVERLAP_CACHE"):
        return pathlib.Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "hloverlap"


def key(parts: Iterable[bytes | str]) -> str:
    """Gives a name for the question that these parts make; where one part ends and the next begins counts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read(name: str) -> dict[str, Any] | None:
    """Gives the answer stored under `name`; None when there is none that can be read."""
    try:
        found = json.loads(_path(name).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("key") == name else None


def write(name: str, answer: dict[str, Any]) -> None:
    """Stores `answer`, whole or not at all. A folder that cannot be written to stores nothing."""
    import tempfile

    path = _path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({**answer, "key": name}, file)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _sweep()
    except OSError:
        return


def fingerprint() -> str:
    """Hashes what the answers depend on beside the question: this package's sources and the versions of the libraries.

    It reads every source, a megabyte in 4 ms: sizes and times of change are the same in two builds of one day.
    """
    digest = hashlib.sha256()
    for source in _SOURCES:
        for path in _files(os.path.join(os.path.dirname(hloverlap.__file__), source)):
            with open(path, "rb") as file:
                content = file.read()
            digest.update(f"{path.name}:{len(content)}:".encode() + content)
    return " ".join([digest.hexdigest(), *_libraries()])


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry.path)
        elif not entry.name.startswith("."):
            yield entry


def _libraries() -> Iterator[str]:
    """Lists the installed libraries, each with its version, as an installer calls the folder that it leaves."""
    for folder in sys.path:
        with contextlib.suppress(OSError):
            yield from sorted(name for name in os.listdir(folder or ".") if _LIBRARIES.fullmatch(name))


def _path(name: str) -> pathlib.Path:
    return folder() / name[:2] / f"{name}.json"


def _sweep() -> None:
    """Deletes, once the limit is passed, the entries used least recently until half of it is left.

    An answer takes seconds to find, so looking at all of them after each write is no loss.
    """
    entries = []
    for path in folder().glob("??/*.json"):
        stat = path.stat()
        entries.append((max(stat.st_atime, stat.st_mtime), stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    if total <= SIZE_LIMIT:
        return
    for _, size, path in sorted(entries):
        path.unlink(missing_ok=True)
        total -= size
        if total <= SIZE_LIMIT // 2:
            return
