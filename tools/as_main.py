"""Runs a program as Python itself would: as ``__main__``, with its own sys.argv and sys.path[0]."""

from __future__ import annotations

import importlib.machinery
import io
import os
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass


class NotFoundError(Exception):
    """There is no such program; the text is one sentence."""


@dataclass(frozen=True)
class Program:
    """name: the program's sys.argv[0]. folder: its sys.path[0]. execute: runs it, once sys is as it expects."""

    name: str
    folder: str
    execute: Callable[[], None]

    def run(self, arguments: Sequence[str]) -> None:
        """Runs it to its end, and raises what it raises. This process is the program's from now on."""
        sys.argv[:] = [self.name, *arguments]
        if not sys.flags.safe_path:
            sys.path[0] = self.folder
        sys.excepthook = _excepthook
        self.execute()


def script(path: str) -> Program:
    """A Python file. Raises NotFoundError."""
    try:
        with io.open_code(os.path.abspath(path)) as file:
            source = file.read()
    except OSError as error:
        raise NotFoundError(f"can't open '{path}': {error.strerror}") from None
    full = os.path.abspath(path)

    def execute() -> None:
        main = types.ModuleType("__main__")
        main.__file__ = full
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", full)
        vars(main)["__cached__"] = None
        sys.modules["__main__"] = main
        exec(compile(source, full, "exec", dont_inherit=True), vars(main))

    return Program(path, os.path.dirname(os.path.realpath(path)), execute)


def module(name: str) -> Program:
    """A module, or a package with a ``__main__``. NotFoundError comes when it is run."""

    def execute() -> None:
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except ImportError as error:
            if _raised_in(error) == "runpy":
                raise NotFoundError(str(error)) from None
            raise

    return Program(name, os.getcwd(), execute)


def _raised_in(error: BaseException) -> str:
    frame, trace = "", error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame.f_globals.get("__name__", ""), trace.tb_next
    return frame


def _excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    """Python's own, without the frames above the program."""
    first = sys.modules["__main__"].__dict__
    below = trace
    while below is not None and below.tb_frame.f_globals is not first:
        below = below.tb_next
    sys.__excepthook__(kind, error.with_traceback(below), below)
