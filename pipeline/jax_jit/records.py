"""What became of each function that was compiled while the pipeline was on."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Literal

from hloverlap.passes.context import CompileOption, Remark

Outcome = Literal["rewritten", "unchanged", "failed", "not covered", "left out", "compiled before"]

logger = logging.getLogger("hloverlap.pipeline")


@dataclasses.dataclass(frozen=True)
class PartitionerPermutes:
    """What became of the permutes that only the partitioner knows.

    message: one sentence. remarks, statistics: of the stream assignment on HLO; empty where it did not run.
    """

    message: str
    remarks: tuple[Remark, ...] = ()
    statistics: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def annotated(self) -> int:
        """Permutes put on a stream."""
        return self.statistics.get("num-annotated", 0)


@dataclasses.dataclass(frozen=True)
class Entry:
    """One compile.

    function: the name that jit compiles it under. outcome: ``rewritten``, ``unchanged`` (the pipeline ran and found
    nothing to do), ``failed`` (a pass or XLA refused; the original program runs), ``not covered`` (the backend has no
    use for it), ``left out`` (by its name) or ``compiled before`` (the pipeline was on). message: one sentence.
    platform, devices: what it was compiled for. token: of the setting.
    remarks, statistics: of the passes. options: XLA options added. options_kept: those not added, since the user has
    set them. rewrite_seconds: all that was done before XLA. compile_seconds: XLA, or the persistent cache.
    fingerprint: SHA-256, in hex, of the module that was compiled, without locations; "" where it was not looked at.
    partitioner: None where it was not asked for.
    """

    function: str
    outcome: Outcome
    message: str
    platform: str = ""
    devices: int = 0
    token: str = ""
    remarks: tuple[Remark, ...] = ()
    statistics: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    options: Mapping[str, CompileOption] = dataclasses.field(default_factory=dict)
    options_kept: tuple[str, ...] = ()
    rewrite_seconds: float = 0.0
    compile_seconds: float = 0.0
    fingerprint: str = ""
    partitioner: PartitionerPermutes | None = None

    @property
    def changes(self) -> str:
        """What the passes did, as ``num-annotated 2, num-merged 4``; "" for nothing."""
        counts: dict[str, int] = {}
        for of_pass in self.statistics.values():
            for name, count in of_pass.items():
                counts[name] = counts.get(name, 0) + count
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


class Record:
    """The entries of one setting while it is on; iterate over it, or take its length.

    Other threads that use the same setting at the same time are in it.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        self._entries: list[Entry] = []
        with _lock:
            _open.append(self)

    def close(self) -> None:
        """Takes no more entries."""
        with _lock:
            _open.remove(self)

    def add(self, entry: Entry) -> None:
        """Keeps an entry."""
        self._entries.append(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)


_entries: list[Entry] = []
_open: list[Record] = []
_lock = threading.Lock()


def add(entry: Entry) -> None:
    """Keeps an entry, in the log of the process and in the open records of its setting, and tells `logging`."""
    with _lock:
        _entries.append(entry)
        for record in _open:
            if record.token == entry.token:
                record.add(entry)
    logger.info("%s: %s: %s", entry.function, entry.outcome, entry.message)


def records() -> tuple[Entry, ...]:
    """Every entry since the start of the process, or since `clear_records`, in order of compilation."""
    with _lock:
        return tuple(_entries)


def clear_records() -> None:
    """Forgets all entries."""
    with _lock:
        _entries.clear()
