"""Names what can go wrong between bytes and a module, and the words that all formats say it with."""

from __future__ import annotations

import jaxlib.version
from jaxlib.mlir import ir

from hloverlap.passes.errors import HloverlapError

JAXLIB = f"jaxlib {jaxlib.version.__version__}"
DAMAGED = f"it is damaged or cut off, or another version wrote it (this is {JAXLIB})"


class ReadError(HloverlapError):
    """Says that there is no module to be had; the text is one line: the file, what it looks like, what to do."""


class WriteError(HloverlapError):
    """Says that nothing was written; the text is one line."""


def damaged(place: str, what: str, problem: str) -> ReadError:
    """Explains that a library refuses what looks like `what`. place: the file, perhaps with line and column."""
    return ReadError(f"{place}: looks like {what}, but {problem}; {DAMAGED}: write it again")


def broken(name: str, what: str, problem: Exception) -> ReadError:
    """Explains that not even the frame around the module is whole."""
    return ReadError(f"{name}: looks like {what}, but {problem}; it was cut off or damaged: write it again")


def not_utf8(data: bytes, name: str, what: str, error: UnicodeDecodeError) -> ReadError:
    """Explains that text holds bytes which are no text."""
    line = data.count(b"\n", 0, error.start) + 1
    return ReadError(f"{name}:{line}: looks like {what}, but is not UTF-8; it is damaged: write it again")


def cannot(error: Exception) -> str:
    """Gives the clause that quotes a library."""
    return f"cannot be read: {one_line(str(error))}"


def first_message(error: ir.MLIRError) -> str:
    """Gives what MLIR says first."""
    return error.error_diagnostics[0].message if error.error_diagnostics else str(error)


def one_line(words: str, limit: int = 300) -> str:
    """Gives the words on one line of at most `limit` characters."""
    line = " ".join(words.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
