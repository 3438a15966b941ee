"""Runs a program as Python itself would: as ``__main__``, with its own sys.argv and sys.path[0].

The public functions of ``runpy`` do less. `run_path` and `run_module` let a module of their own stand for ``__main__``,
and put the old one and sys.argv[0] back when the code ends, while threads and exit functions of the program still run;
`run_path` does not make the script's folder sys.path[0]; their frames are in the program's tracebacks; and what
`run_module` raises for a module that is not there is what an import that fails in the module raises.
"""

from __future__ import annotations

import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hloverlap.passes.errors import HloverlapError


class NotFoundError(HloverlapError):
    """Says that there is no such program; the text is one sentence."""


@dataclass(frozen=True)
class Program:
    """A program that is to run as ``__main__``."""

    name: str
    """The program's sys.argv[0]."""
    folder: str
    """Its sys.path[0]."""
    execute: Callable[[], None]
    """Runs it, once sys is as it expects."""

    def run(self, arguments: Sequence[str]) -> None:
        """Runs it to its end, and raises what it raises. This process is the program's from now on."""
        sys.argv[:] = [self.name, *arguments]
        if not sys.flags.safe_path:
            sys.path[0] = self.folder
        sys.excepthook = _excepthook
        self.execute()


def script(path: str) -> Program:
    """Finds a Python file. Raises NotFoundError."""
    full = os.path.abspath(path)
    try:
        with io.open_code(full) as file:
            source = file.read()
    except OSError as error:
        raise NotFoundError(f"can't open '{path}': {error.strerror}") from None

    def execute() -> None:
        loader = importlib.machinery.SourceFileLoader("__main__", full)
        names = {"__file__": full, "__cached__": None, "__loader__": loader, "__package__": None, "__spec__": None}
        main = _become_main(names)
        exec(compile(source, full, "exec", dont_inherit=True), main)

    return Program(path, os.path.dirname(os.path.realpath(path)), execute)


def module(name: str) -> Program:
    """Finds a module, or a package with a ``__main__``. NotFoundError comes when it is run."""

    def execute() -> None:
        spec = _find(name)
        assert spec.loader is not None
        code = spec.loader.get_code(spec.name) if isinstance(spec.loader, importlib.abc.InspectLoader) else None
        if code is None:
            raise NotFoundError(f"No code object available for {spec.name}")
        sys.argv[0] = str(spec.origin)
        names = {
            "__file__": spec.origin,
            "__cached__": spec.cached,
            "__loader__": spec.loader,
            "__package__": spec.parent,
            "__spec__": spec,
        }
        exec(code, _become_main(names))

    return Program("-m", os.getcwd(), execute)


def _find(name: str) -> importlib.machinery.ModuleSpec:
    """Finds the spec of the module that stands for `name`. Raises NotFoundError with Python's own words."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        raise NotFoundError(f"Error while finding module specification for {name!r} ({said})") from None
    if spec is None:
        raise NotFoundError(f"No module named {name}")
    if spec.submodule_search_locations is None:
        return spec
    try:
        return _find(f"{name}.__main__")
    except NotFoundError as error:
        raise NotFoundError(f"{error}; {name!r} is a package and cannot be directly executed") from None


def _become_main(names: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the names of a new ``__main__``."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(main).update(names, __annotations__={}, __builtins__=builtins)
    return vars(main)


def _excepthook(kind: type[BaseException], error: BaseException, trace: types.TracebackType | None) -> None:
    """Does what Python's own does, without the frames above the program."""
    first = sys.modules["__main__"].__dict__
    below = trace
    while below is not None and below.tb_frame.f_globals is not first:
        below = below.tb_next
    sys.__excepthook__(kind, error.with_traceback(below), below)
