"""Holds the exit statuses of all commands. docs/exit-status.md says more, and why they are what they are."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class ExitStatus(enum.IntEnum):
    """Says how a command ended. One number means the same in every command, and no command gives another."""

    FINE = 0, "all is well"
    FAILED = 1, "bad input, a pass that failed, an expectation not met, or output that could not be written"
    USAGE = 2, "bad usage: a flag, its value, or the text of a pipeline"
    DIFFERENT = 3, "--check found a difference; the output is not written"
    WORSE = 4, "the second module is worse than the first, or XLA compiles no module that it is given"
    OVER_BUDGET = 5, "a --fail-on budget is broken"
    NOT_CHECKED = 6, "--check could not run the module here, so nobody knows; the output is written"
    INTERNAL = 70, "an internal error, which is a bug of ours; HLOVERLAP_DEBUG=1 shows where it comes from"

    meaning: str

    def __new__(cls, number: int, meaning: str) -> ExitStatus:
        """Makes the member `number`; `meaning` is the line that help has for it."""
        status = int.__new__(cls, number)
        status._value_ = number
        status.meaning = meaning
        return status


def help_text(*own: ExitStatus, also: Iterable[str] = ()) -> str:
    """Returns the section of ``--help``: what all commands have, the statuses that this one has besides, and `also`."""
    common = {ExitStatus.FINE, ExitStatus.FAILED, ExitStatus.USAGE, ExitStatus.INTERNAL}
    rows = [f"  {status.value:<4} {status.meaning}" for status in ExitStatus if status in common or status in own]
    ended = "  128+N  a signal ended it: 130 for Ctrl-C, 141 when the reader of its output is gone, 143 for SIGTERM"
    return "\n".join(["exit status (docs/exit-status.md):", *rows, ended, *also])
