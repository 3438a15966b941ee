"""What an exit status and the last words of a process mean."""

from __future__ import annotations

import signal

import pytest

from hloverlap.pipeline.children import ends
from hloverlap.pipeline.children.ends import SPOKEN, End, read

CHECK = "F1130 10:00:00.000000   77 stream.cc:9] Check failed: a == b (1 vs. 2)"
CHATTER = "I1130 10:00:00.000000 1 file.cc:1] chatter"
TRACEBACK = """Traceback (most recent call last):
  File "x.py", line 1, in <module>
ValueError: no luck
I1130 10:00:00.000000 1 file.cc:1] chatter"""


@pytest.mark.parametrize(
    ("status", "stderr", "kind", "message"),
    [
        (0, CHATTER, "ok", ""),
        (3, CHATTER, "refused", ""),
        (9, "", "refused", ""),
        (-signal.SIGABRT, f"{CHATTER}\n{CHECK}\n*** Check failure stack trace: ***", "aborted", CHECK[40:]),
        (
            -signal.SIGABRT,
            "2026-11-30 10:00:00.000000: F external/xla/xla/shape.cc:12] Check failed: ok() No",
            "aborted",
            "Check failed: ok() No",
        ),
        (-signal.SIGABRT, "LLVM ERROR: Cannot select: t1", "aborted", "Cannot select: t1"),
        (-signal.SIGABRT, "", "crashed", "SIGABRT, without a word"),
        (-signal.SIGSEGV, CHATTER, "crashed", f"SIGSEGV, after: {CHATTER}"),
        (-signal.SIGKILL, CHATTER, "killed", "SIGKILL, as when memory runs out"),
        (-signal.SIGTERM, "", "killed", "SIGTERM"),
        (-signal.SIGINT, "", "killed", "SIGINT"),
        (-signal.SIGXCPU, "", "timeout", "no end in any reasonable time"),
        (-signal.SIGABRT, "terminate called\n  what():  std::bad_alloc", "exhausted", "what():  std::bad_alloc"),
        (
            -signal.SIGABRT,
            "F1130 10:00:00.000000 1 env.cc:9] Check failed: pthread_create(&t) == 0 (11 vs. 0)",
            "exhausted",
            "Check failed: pthread_create(&t) == 0 (11 vs. 0)",
        ),
        (-signal.SIGABRT, "LLVM ERROR: out of memory", "exhausted", "out of memory"),
        (1, "MemoryError", "exhausted", "MemoryError"),
        (1, "OSError: [Errno 28] No space left on device: 'x'", "exhausted", None),
        (1, TRACEBACK, "failed", "ValueError: no luck"),
        (1, "no GPU\n\n", "failed", "no GPU"),
        (2, "", "failed", "exit status 2"),
        (1, "ModuleNotFoundError: No module named 'jax'", "unavailable", "No module named 'jax'"),
    ],
)
def test_each_end(status: int, stderr: str, kind: ends.Kind, message: str | None) -> None:
    end = read(status, stderr)
    assert end.kind == kind
    assert message is None or end.message == message
    assert end.status == status
    assert end.stderr == stderr


def test_only_what_the_library_said_counts_as_its_answer() -> None:
    assert set(SPOKEN) == {"ok", "refused", "aborted"}


def test_an_end_is_a_predicate() -> None:
    assert str(End("aborted", "Check failed: x")) == "aborted: Check failed: x"
    assert str(End("killed")) == "was killed"


def test_very_long_last_words_are_cut() -> None:
    assert len(read(1, "x" * 100_000).message) == 500
