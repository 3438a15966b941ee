"""SIGTERM and SIGHUP while a file is written: what is half written is taken away before the process ends."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class _EndedError(BaseException):
    """A signal asks the process to end. No Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


@contextlib.contextmanager
def cleaning_up() -> Iterator[None]:
    """Inside, these signals raise, so that files are closed and removed; then the process ends by the signal after all.

    Elsewhere they keep their default, which ends the process at once: Python runs no handler while MLIR works.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can a handler be set
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise _EndedError(number)

    before = {number: signal.signal(number, end) for number in _SIGNALS if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    except _EndedError as ended:
        signal.signal(ended.number, signal.SIG_DFL)
        os.kill(os.getpid(), ended.number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
