"""Why there is no module to be had: one line with the file, what it looks like and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jaxlib.version
from jaxlib.mlir import ir

from hloverlap.pipeline.formats import kinds as formats
from hloverlap.pipeline.formats import naming, nesting
from hloverlap.pipeline.formats.kinds import Format

if TYPE_CHECKING:
    from hloverlap.pipeline.formats.conversion import ConversionError

_JAXLIB = f"jaxlib {jaxlib.version.__version__}"
_DAMAGED = f"it is damaged or cut off, or another version wrote it (this is {_JAXLIB})"


_TUPLE_ELEMENT = re.compile(r"[(, ]%[\w.-]+#\d")  # from 0.12 on, for get-tuple-element


class ReadError(Exception):
    """There is no module to be had; the text is one line: the file, what it looks like, what to do."""


def first_message(error: ir.MLIRError) -> str:
    """What MLIR says first."""
    return error.error_diagnostics[0].message if error.error_diagnostics else str(error)


def unknown(data: bytes, name: str) -> ReadError:
    """Of no format of ours."""
    if not data.strip():
        return ReadError(f"{name}: empty; was the program that should have written it stopped?")
    kind, advice = formats.describe_unknown(data)
    return ReadError(f"{name}: looks like {kind}; {advice}")


def broken(name: str, found: Format, problem: Exception) -> ReadError:
    """Not even the frame around the module is whole."""
    return ReadError(f"{name}: looks like {found.value}, but {problem}; it was cut off or damaged: write it again")


def not_utf8(data: bytes, name: str, found: Format, error: UnicodeDecodeError) -> ReadError:
    """Text that is none."""
    line = data.count(b"\n", 0, error.start) + 1
    return ReadError(f"{name}:{line}: looks like {found.value}, but is not UTF-8; it is damaged: write it again")


def undecodable(found: str, name: str) -> ReadError:
    """MLIR's Python bindings abort on it."""
    return ReadError(f"{name}: holds the name {found}, which is no UTF-8; it is damaged, or give the name in UTF-8")


def too_deep(name: str) -> ReadError:
    """MLIR's parser has no stack for it."""
    return ReadError(
        f"{name}: looks like MLIR text, but nests more than {nesting.DEEPEST} levels deep, which MLIR cannot parse; "
        "no program is like that: write it again"
    )


def text(error: ir.MLIRError, data: str, name: str) -> ReadError:
    """MLIR text that does not parse or verify: ``file:line:column`` and MLIR's message."""
    first = error.error_diagnostics[0]
    try:
        if naming.may_be_undecodable(data.encode()):
            raise ValueError("to look at its file could abort")
        place = ir.FileLineColLoc(first.location)
    except ValueError:
        return ReadError(f"{name}: looks like MLIR text, but {_text_problem(_one_line(first.message))}")
    file, line, column = str(place.filename), place.start_line, place.start_col
    # MLIR calls the text itself "-"; an op with a location of its own is reported there.
    lines = data.rstrip().split("\n")
    at_end = file == "-" and line >= len(lines) and column >= len(lines[-1]) - 1
    problem = _text_problem(_one_line(first.message), at_end)
    return ReadError(f"{name if file == '-' else file}:{line}:{column}: looks like MLIR text, but {problem}")


def bytecode(error: ConversionError, data: bytes, name: str) -> ReadError:
    """MLIR bytecode that MLIR refuses."""
    if "unregistered dialect" in str(error) or "allow-unregistered" in str(error):
        return ReadError(
            f"{name}: MLIR bytecode with ops of a dialect that is not registered; "
            "pass --allow-unregistered-dialect to let them through"
        )
    writer = formats.producer(data)
    return ReadError(
        f"{name}: looks like MLIR bytecode{f' by {writer}' if writer else ''}, but {_cannot(error)}; {_DAMAGED}: "
        "write it again as MLIR text or as a portable artifact"
    )


def portable(error: ConversionError, data: bytes, name: str, found: Format) -> ReadError:
    """A portable artifact, bare or in a jax.export artifact, that StableHLO refuses."""
    from jaxlib.mlir.dialects import stablehlo

    version = formats.portable_version(data)
    lowest, highest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    if version and not _key(lowest) <= _key(version) <= _key(highest):
        age = "too old" if _key(version) < _key(lowest) else "too new"
        return ReadError(
            f"{name}: looks like {found.value} for StableHLO {version}, which is {age}: {_JAXLIB} reads {lowest} "
            f"to {highest}; write it again for one of these"
        )
    return _damaged(name, found, _cannot(error))


def hlo(error: ConversionError, data: bytes, name: str, found: Format) -> ReadError:
    """HLO that XLA refuses, or that StableHLO cannot express."""
    if error.kind == "optimized":
        return ReadError(f"{name}: {found.value} that {_optimized(str(error), data)}")
    if error.kind == "inexpressible":
        problem = f"cannot be turned into StableHLO: {_one_line(str(error))}"
        return ReadError(f"{name}: {found.value} that {problem}; {_DAMAGED}, or XLA has already optimized it")
    if match := re.search(r"was parsing (\d+):(\d+): error: ([^\n]*)", str(error)):
        if _TUPLE_ELEMENT.search(str(error)):
            problem = "it names elements of tuples as newer versions of XLA do"
            return ReadError(
                f"{name}:{match[1]}: looks like {found.value}, but {problem} and {_JAXLIB} cannot: "
                "read it with the jaxlib that dumped it"
            )
        problem = f"XLA cannot parse it: {match[3].rstrip(': ')}"
        return _damaged(f"{name}:{match[1]}:{match[2]}", found, problem)
    return _damaged(name, found, _cannot(error))


def _text_problem(message: str, at_end: bool = False) -> str:
    if "unregistered dialect" in message:
        return "with an op of a dialect that is not registered; pass --allow-unregistered-dialect to let it through"
    if match := re.match(r"Dialect `(.*?)' not found for custom op '(.*?)'", message):
        return (
            f"with an op '{match[2]}' of the unknown dialect '{match[1]}'; "
            "write it in the generic form and pass --allow-unregistered-dialect"
        )
    if at_end:
        return f"does not parse: {message}; the text ends there: if it was cut off, write it again"
    return f"does not parse: {message}; correct it, or write it again with {_JAXLIB}"


def _optimized(line: str, data: bytes) -> str:
    """Quotes the instruction, with its line where it came in as text."""
    position = data.find(line.encode())
    number = data.count(b"\n", 0, position) + 1
    where = f"line {number}, " if position >= 0 else ""
    return (
        f"XLA has already optimized, which StableHLO cannot express: {where}{_one_line(line, 100)}; take an earlier "
        "dump: *.before_optimizations.txt, or with the partitioner's transfers *after_spmd-partitioning*.txt"
    )


def _damaged(name: str, found: Format, problem: str) -> ReadError:
    return ReadError(f"{name}: looks like {found.value}, but {problem}; {_DAMAGED}: write it again")


def _cannot(error: Exception) -> str:
    return f"cannot be read: {_one_line(str(error))}"


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _one_line(words: str, limit: int = 300) -> str:
    line = " ".join(words.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
