"""Says how a child ended, in one vocabulary, and what XLA said last."""

from __future__ import annotations

import dataclasses
import re
import signal
from typing import Literal

Kind = Literal["ok", "refused", "aborted", "crashed", "killed", "exhausted", "timeout", "failed", "unavailable"]

# Exit statuses by which a child of ours answers that there is no result, each child with a meaning for each. Python's
# own are 1 and 2.
ANSWERS = range(3, 10)

# Ends that tell of the input, because the library spoke: the others tell of this machine, or of nothing.
SPOKEN: frozenset[Kind] = frozenset({"ok", "refused", "aborted"})

# How XLA's logging begins the line of a failed CHECK, with either of its two kinds of time stamp, and how LLVM does.
_CHECK = re.compile(
    r"^(?:(?:F\d{4} |\d{4}-\d\d-\d\d [\d:.]+: F )[^\]\n]*\] |LLVM ERROR: )(.*)$",
    re.MULTILINE,
)
# What a library says where the machine has too little of something, in the C library's words (strerror) and C++'s.
_EXHAUSTED = re.compile(
    r"bad_alloc|MemoryError|Cannot allocate memory|[Oo]ut of memory|pthread_create"
    r"|No space left on device|Too many open files|Resource temporarily unavailable|Disk quota exceeded"
)
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|Interrupt)\b")
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
_VERBS: dict[Kind, str] = {
    "ok": "ended",
    "refused": "refused",
    "aborted": "aborted",
    "crashed": "crashed",
    "killed": "was killed",
    "exhausted": "ran out of memory, or of something else",
    "timeout": "was given up",
    "failed": "failed",
    "unavailable": "could not start",
}


@dataclasses.dataclass(frozen=True)
class End:
    """How a process ended, and what it said."""

    kind: Kind
    """What happened.

    - ``ok``: it did its work.
    - ``refused``: it answered that there is no result, by one of ANSWERS.
    - ``aborted``: the library found a CHECK of its own to fail; the message is what it said.
    - ``crashed``: a signal such as SIGSEGV, without any such words.
    - ``killed``: from outside, as by the kernel when memory runs out, or by the user.
    - ``exhausted``: the library said that memory, disk, threads or files ran out.
    - ``timeout``: it took longer than it may.
    - ``failed``: it raised an exception, or ended with a status that nobody has agreed on.
    - ``unavailable``: it did not start, or something that it needs is not installed.
    """
    message: str = ""
    """One line: the library's words where there are some, else the signal or the last line of stderr."""
    status: int = 0
    """The exit status; -N for signal N."""
    stderr: str = dataclasses.field(default="", repr=False, compare=False)
    """All that it wrote there."""

    def __str__(self) -> str:
        """Says it as a predicate: ``aborted: Check failed: a == b``."""
        return f"{_VERBS[self.kind]}: {self.message}" if self.message else _VERBS[self.kind]


def read(status: int, stderr: str) -> End:
    """Reads the end of a process from its exit status (-N for signal N) and from what it wrote on stderr."""
    kind, message = _read(status, stderr)
    return End(kind, message, status, stderr)


def _read(status: int, stderr: str) -> tuple[Kind, str]:
    if status == 0:
        return "ok", ""
    if status in ANSWERS:
        return "refused", ""
    if check := _CHECK.search(stderr):
        words = check[1].strip()
        return "exhausted" if is_exhaustion(words) else "aborted", words
    if status == -signal.SIGXCPU:
        return "timeout", "no end in any reasonable time"
    name = _name(-status) if status < 0 else ""
    if name in _FROM_OUTSIDE:
        return "killed", name + (", as when memory runs out" if name == "SIGKILL" else "")
    last = _last_line(stderr)
    if is_exhaustion(stderr if name else last):
        return "exhausted", last
    if name:
        return "crashed", f"{name}, {f'after: {last}' if last else 'without a word'}"
    if "Error: No module named " in last:
        return "unavailable", last.partition(": ")[2]
    return "failed", last or f"exit status {status}"


def is_exhaustion(words: str) -> bool:
    """Tells whether a library's words are about what this machine lacks, and not about what it was given."""
    return _EXHAUSTED.search(words) is not None


def _last_line(stderr: str) -> str:
    """Gives the exception of a traceback, else the last line that is not empty."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    raised = [line for line in lines if _EXCEPTION.match(line)]
    return " ".join([*raised[-1:], *lines[-1:], ""][:1])[:500]


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"
