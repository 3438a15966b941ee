"""Says what became of each function that was compiled while the pipeline was on."""

from __future__ import annotations

import collections
import dataclasses
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Literal

from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.remark import Remark

Outcome = Literal["rewritten", "unchanged", "failed", "not covered", "left out", "compiled before"]

# As many functions as jax's own caches hold (`max_size` in jax._src.util.cache): what is older is compiled anew.
MOST_RECORDS = 4096

# What jax calls what it has no name for, in jax._src.linear_util or jax._src.pjit, and every function under pmap, in
# jax._src.pmap.
_UNNAMED = ("_unnamed_function", "_fun")


@dataclasses.dataclass(frozen=True)
class PartitionerPermutes:
    """Says what became of the permutes that only the partitioner knows."""

    message: str
    """One sentence."""
    remarks: tuple[Remark, ...] = ()
    """What the stream assignment said about the HLO module; empty where it did not run."""
    statistics: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """What it counted; empty where it did not run."""

    @property
    def annotated(self) -> int:
        """Counts the permutes that were put on a stream."""
        return self.statistics.get("num-annotated", 0)


@dataclasses.dataclass(frozen=True)
class CompileRecord:
    """Says what became of one function when jit compiled it."""

    function: str
    """The name that jit compiles it under."""
    outcome: Outcome
    """``rewritten``, ``unchanged`` (the pipeline ran and found nothing to do), ``failed`` (a pass or XLA refused; the
    original program runs), ``not covered`` (the backend has no use for it), ``left out`` (by its name) or ``compiled
    before`` (the pipeline was on)."""
    message: str
    """One sentence."""
    platform: str = ""
    """The backend that it was compiled for."""
    devices: int = 0
    """How many devices it was compiled for."""
    token: str = ""
    """Which configuration it was compiled by."""
    remarks: tuple[Remark, ...] = ()
    """What the passes said."""
    statistics: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    """What the passes counted: pass -> statistic -> number."""
    options: Mapping[str, CompileOption] = dataclasses.field(default_factory=dict)
    """XLA options that were added."""
    options_kept: tuple[str, ...] = ()
    """XLA options that were not added, since the user has set them."""
    rewrite_seconds: float = 0.0
    """The time of all that was done before XLA was called."""
    compile_seconds: float = 0.0
    """The time that XLA took, or the persistent cache."""
    fingerprint: str = ""
    """SHA-256, in hex, of the module that was compiled, without locations; "" where it was not looked at."""
    partitioner: PartitionerPermutes | None = None
    """None where ``partitioner_permutes`` was not asked for."""
    caller: str = ""
    """``file:line`` of the user's code for which it was compiled; "" where that is not known."""

    @property
    def title(self) -> str:
        """Names the function; what jax has no name for, as an eager ``shard_map`` or a ``pmap``, goes by its caller."""
        if self.function not in _UNNAMED or not self.caller:
            return self.function
        return f"{self.function} at {os.path.basename(self.caller)}"

    @property
    def changes(self) -> str:
        """Gives what the passes did, as ``num-annotated 2, num-merged 4``; "" for nothing."""
        counts: dict[str, int] = {}
        for of_pass in self.statistics.values():
            for name, count in of_pass.items():
                counts[name] = counts.get(name, 0) + count
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


class RecordLog:
    """Keeps the newest records, in order of compilation; iterate over it, or take its length.

    A log of a block or of an installation holds what its configuration compiled while it was on, in all threads.
    """

    dropped: int = 0
    """How many older records have made way for newer ones."""

    def __init__(self, most: int = MOST_RECORDS) -> None:
        self._records: collections.deque[CompileRecord] = collections.deque(maxlen=most)
        self._lock = threading.Lock()

    def add(self, record: CompileRecord) -> None:
        """Keeps a record; the oldest makes way for it where `most` are kept."""
        with self._lock:
            self.dropped += len(self._records) == self._records.maxlen
            self._records.append(record)

    def clear(self) -> None:
        """Forgets all records."""
        with self._lock:
            self._records.clear()
            self.dropped = 0

    def __iter__(self) -> Iterator[CompileRecord]:
        with self._lock:
            return iter(tuple(self._records))

    def __len__(self) -> int:
        return len(self._records)
