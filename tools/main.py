"""Runs every command: whatever ends one becomes one line on stderr and one exit status."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from hloverlap.passes.errors import HloverlapError
from hloverlap.tools.exit_status import ExitStatus

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)  # a background job of a shell ignores SIGINT


_OF_STREAMS = (errno.EBADF, errno.EFBIG, errno.EIO, errno.ENOSPC)  # when no file is named


class UsageError(HloverlapError):
    """Says what is wrong with the command line: one sentence, or for pipeline text a sentence and a caret."""


class _SignalError(KeyboardInterrupt):
    """A signal asks the command to end. Like Ctrl-C it is no Exception, so that nobody takes it for a failure."""


def run(name: str, work: Callable[[Sequence[str]], int], argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status.

    name: the command's. work: takes the arguments, returns the exit status. argv: without the program's name; None
    takes the process's, and then a signal, or a pipe whose reader is gone, ends the process as it would end any other.
    """
    ended: list[int] = []  # the signal, even where some code on the way took the exception for its own
    try:
        with _signals_raise(ended):
            status = _status(name, work, sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        ended = ended or [signal.SIGINT]
    except BrokenPipeError:
        _let_go_of_stdout()
        ended = ended or [signal.SIGPIPE]
    if not ended:
        return status
    if argv is None:
        _end_by(ended[0])
    return 128 + ended[0]


def _status(name: str, work: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Gives the status of `work`, whose exceptions become messages. Raises BrokenPipeError and KeyboardInterrupt."""
    try:
        status = work(argv)
        if sys.stdout is not None:  # None: closed by whoever started the process
            sys.stdout.flush()
        return status
    except SystemExit as stop:  # argparse has shown its help
        return int(stop.code or 0)
    except UsageError as error:
        see = "" if "\n" in str(error) else f" (see {name} --help)"
        return fail(name, f"{error}{see}", error, ExitStatus.USAGE)
    except HloverlapError as error:
        return fail(name, str(error), error, ExitStatus.FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        _let_go_of_stdout()
        return fail(name, _said(error), error, ExitStatus.FAILED)
    except Exception as error:
        said = str(error).strip().rpartition("\n")[2]
        message = f"internal error: {type(error).__name__}: {said}; please report it with the input"
        return fail(name, message, error, ExitStatus.INTERNAL)


def fail(name: str, message: str, error: Exception | None, status: ExitStatus) -> ExitStatus:
    """Writes one error to stderr, with HLOVERLAP_DEBUG=1 after where it comes from, and returns `status`."""
    if error is not None and os.environ.get("HLOVERLAP_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    print(f"{name}: error: {message}", file=sys.stderr, flush=True)
    return status


def _said(error: OSError) -> str:
    """Says in one sentence what the machine does not let us do."""
    said = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {said}"
    return f"<stdout>: cannot be written: {said}" if error.errno in _OF_STREAMS else said


def _let_go_of_stdout() -> None:
    """Sends what stdout still holds nowhere, or Python tries to write it again at its end, and complains."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _signals_raise(ended: list[int]) -> Iterator[None]:
    """Has signals that end a process raise `_SignalError` inside, so that files, folders and children are cleared away.

    The first is put into `ended`; a second of its kind ends the process at once. While C++ works Python raises
    nothing, so a signal waits for the end of a pass of MLIR's, as Ctrl-C does everywhere in Python.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only there can a handler be set
        return

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.append(number)
        raise _SignalError

    before = {number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) in _UNTOUCHED}
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_by(number: int) -> None:
    """Ends the process by a signal, which tells its parent more than an exit status: a shell ends its loop, too."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
