"""How the measuring process tells the supervising one what it is at: one JSON object a line, flushed at once."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import threading
from typing import Any


@dataclasses.dataclass(frozen=True)
class Order:
    """What the measuring process is to do.

    mode: ``measure`` on the devices there are, or ``compile`` for `devices` GPUs of kind `target` that need not exist.
    devices: how many; 0 for all there are. platform: "" for JAX's choice. tiny: sizes for a test.
    deadline: time.time() by which to be done. done: cases to leave out. only: substrings, one of which a case's name
    must hold; () for any. faults: case, or * for all, -> variant -> why it is left out. careful: cases whose variants
    are compiled one by one.
    case_seconds: how long to time a case.
    """

    mode: str
    devices: int
    platform: str
    target: str
    tiny: bool
    deadline: float
    case_seconds: float
    only: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    faults: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    careful: tuple[str, ...] = ()

    def write(self, path: pathlib.Path) -> None:
        """To a JSON file."""
        path.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: pathlib.Path) -> Order:
        """From a JSON file."""
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        return cls(**known)


class Journal:
    """The writing end; several threads may write."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> None:
        """One line."""
        with self._lock:
            self._file.write(json.dumps({"event": event, **fields}) + "\n")
            self._file.flush()


class Reader:
    """The reading end: what was written since the last look."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._offset = 0

    def new(self) -> list[dict[str, Any]]:
        """Whole lines only."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
