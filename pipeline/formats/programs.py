"""Tells apart, in one place, what a Python caller may hand over as a program."""

from __future__ import annotations

import os
from typing import Any, Protocol, TypeAlias, runtime_checkable

from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import copy_of
from hloverlap.pipeline.formats import reading


@runtime_checkable
class Lowered(Protocol):
    """Describes what ``jax.jit(f).lower(...)`` gives; known by its method, so that nothing here imports jax."""

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """Gives the module that jax has made."""


@runtime_checkable
class Exported(Protocol):
    """Describes what ``jax.export.export(f)(...)`` gives."""

    mlir_module_serialized: bytes
    """The module as a portable artifact."""


# A module; what jax lowered or exported; the bytes of a file or the text itself; or the path of a file.
Program: TypeAlias = ir.Module | Lowered | Exported | bytes | bytearray | memoryview | str | os.PathLike[str]


def module_of(program: Program) -> tuple[ir.Module, str]:
    """Reads a module that is the caller's to change, and says what messages call it; `program` is not changed.

    A module is copied in its own context; all else is in a context of its own. Raises ReadError (no module to be had),
    TypeError (no program).
    """
    if isinstance(program, ir.Module):
        return copy_of(program), "<module>"
    if isinstance(program, (bytes, bytearray, memoryview)):
        return reading.read(bytes(program), "<bytes>", make_context()).module, "<bytes>"
    if isinstance(program, str) and _is_text(program):
        return reading.read(program.encode("utf-8", "surrogateescape"), "<text>", make_context()).module, "<text>"
    if isinstance(program, (str, os.PathLike)):
        source = reading.read_path(os.fspath(program), make_context())
        return source.module, source.name
    # jax runs passes of its contexts on threads, which passes written in Python do not survive: hence the copies.
    if isinstance(program, Lowered):
        return copy_of(program.compiler_ir("stablehlo"), make_context()), "<lowered>"
    if isinstance(program, Exported):
        return reading.read(program.mlir_module_serialized, "<exported>", make_context()).module, "<exported>"
    advice = "lower it first, with jax.jit(f).lower(...)"
    if not callable(program):
        advice = "give a module, its text, bytes or path, or what jax.jit(f).lower(...) gives"
    raise TypeError(f"{type(program).__name__} is no program: {advice}")


def _is_text(program: str) -> bool:
    """Says whether a string is a module's text and not a path: every module has a brace, or lines; no path is empty."""
    return not program.strip() or "\n" in program or ("{" in program and not os.path.exists(program))
