"""Makes of bytes in any format a module, or one line that says why not."""

from __future__ import annotations

import sys

from jaxlib.mlir import ir

from hloverlap.pipeline.formats import foreign, table
from hloverlap.pipeline.formats.errors import ReadError
from hloverlap.pipeline.formats.format import Source, signature_of

STDIN = "<stdin>"
_LONGEST_NAME = 200  # characters of a name that no file has, in a message


def read_path(path: str, context: ir.Context) -> Source:
    """Reads the module in a file, or on stdin for ``-``. Raises ReadError."""
    data, name = load(path)
    return read(data, name, context)


def load(path: str) -> tuple[bytes, str]:
    """Reads the bytes of a file, or of stdin for ``-``, and says what to call it. Raises ReadError."""
    if path == "-":
        if sys.stdin is None:
            raise ReadError(f"{STDIN}: closed; give a file")
        return sys.stdin.buffer.read(), STDIN
    try:
        with open(path, "rb") as file:
            return file.read(), path
    except IsADirectoryError:
        raise ReadError(f"{path}: a folder; give one of the files in it") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        shown = path if len(path) <= _LONGEST_NAME else f"{path[:_LONGEST_NAME]}…"
        raise ReadError(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read(data: bytes, name: str, context: ir.Context) -> Source:
    """Reads a module of any format into `context`. Raises ReadError; MLIR prints nothing.

    MLIR text is parsed here. Everything else is first turned into MLIR bytecode by a process of its own, because MLIR
    and XLA may abort on damaged bytes, and is then as safe to parse as what this process wrote itself.
    """
    format = table.sniff(data)
    if format is None:
        raise foreign.explain(data, name)
    module = format.read(data, name, context)
    return Source(module, format, name, data, signature_of(module))
