"""Installs the pipeline as soon as a program imports jax, and no earlier.

jax and jaxlib read the environment when they are loaded, and a program may set it before it imports them. So nothing
here may load either.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.records import CompileRecord


class State:
    """Says what came of `install_with_jax`, and of the program."""

    imported = False
    """Whether the program has imported jax."""
    error = ""
    """Why nothing was installed; "" if it was."""
    interrupted = False
    """Whether the program was interrupted from the keyboard."""


def install_with_jax(
    tell_imported: Callable[[State], None] | None = None,
    tell: Callable[[CompileRecord], None] | None = None,
    **arguments: Any,
) -> State:
    """Calls ``interface.install`` now or when jax is imported. It keeps an error, since the program shall run.

    A call that jax has not been imported for yet makes way for the next one.
    tell_imported: is called when it is installed, or could not be. tell: is called with each record from then on.
    """
    state = State()

    def install() -> None:
        state.imported = True
        try:
            from hloverlap.pipeline.jax_jit import interface
            from hloverlap.pipeline.jax_jit.session import SESSION

            if tell is not None:
                SESSION.listeners.append(tell)
            interface.install(**arguments)
        except Exception as error:
            state.error = f"{type(error).__name__}: {error}"
        if tell_imported is not None:
            tell_imported(state)

    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _After)]
    if "jax" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, _After("jax", install))
    return state


class _After(importlib.abc.MetaPathFinder):
    """Calls `then` once, when a module has been imported."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Gives the spec that the others find, with `then` at the end of its execution."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
