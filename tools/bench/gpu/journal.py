"""Lets the measuring process tell the supervising one what it is at: one JSON object a line, flushed at once."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import threading
from typing import Any


@dataclasses.dataclass(frozen=True)
class Order:
    """Says what the measuring process is to do."""

    mode: str
    """``measure`` on the devices there are, or ``compile`` for `devices` GPUs of kind `target` that need not exist."""
    devices: int
    """How many; 0 for all there are."""
    platform: str
    """"" for JAX's choice."""
    target: str
    tiny: bool
    """Whether sizes are those for a test."""
    deadline: float
    """The time.time() by which to be done."""
    case_seconds: float
    """How long to time a case."""
    only: tuple[str, ...] = ()
    """Substrings, one of which a case's name must hold; () for any."""
    done: tuple[str, ...] = ()
    """Cases to leave out."""
    faults: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    """A case, or * for all -> variant -> why it is left out."""
    careful: tuple[str, ...] = ()
    """Cases whose variants are compiled one by one."""

    def write(self, path: pathlib.Path) -> None:
        """Writes it to a JSON file."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: pathlib.Path) -> Order:
        """Reads it from a JSON file."""
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        return cls(**known)


class Journal:
    """Writes what happens; several threads may write."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:
        """Writes one line."""
        with self._lock:
            self._file.write(json.dumps({"event": event, **fields}) + "\n")
            self._file.flush()


class Reader:
    """Reads what was written since the last look."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._offset = 0

    def new(self) -> list[dict[str, Any]]:
        """Gives what the new lines say, whole lines only."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
