"""Reads and writes MLIR text: the only format that is parsed in this process, where MLIR says line and column."""

from __future__ import annotations

import io
import re

from jaxlib.mlir import ir

from hloverlap.pipeline.formats import errors, naming, nesting
from hloverlap.pipeline.formats.errors import ReadError
from hloverlap.pipeline.formats.format import Format, Source, Style

_BLANKS_AND_COMMENTS = re.compile(rb"(?:\s|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)

# An op in quotes, `module`, a dictionary of resources or nothing but comments; or an op with its dialect, an alias, a
# value or a block. Binary data may look like the latter by chance, and goes on with bytes that no text has.
_START = re.compile(
    rb'"[\w.$-]+"|module\b|\{-#|\Z|'
    rb"(?:[A-Za-z_][\w$]*\.[\w$.]|[#!%^@]\w)(?!.{0,16}[\x00-\x08\x0e-\x1f\x80-\xff])",
    re.DOTALL,
)


def first_word(data: bytes) -> int:
    """Gives the position after the blanks and comments at the beginning of MLIR or HLO text."""
    start = _BLANKS_AND_COMMENTS.match(data)
    return start.end() if start else 0


def print_text(module: ir.Module, style: Style) -> bytes:
    """Gives what ``print(module)`` writes."""
    text = io.BytesIO()
    module.operation.print(
        file=text,
        binary=True,
        enable_debug_info=style.debuginfo,
        large_elements_limit=style.elide_larger_than,
    )
    text.write(b"\n")
    return text.getvalue()


class MlirText(Format):
    """The format of what ``print(module)`` and mlir-opt write."""

    name = "MLIR text"
    needs_whole_constants = False

    def sniff(self, data: bytes) -> bool:
        """Says whether the first word is one that MLIR text begins with."""
        return bool(data.strip()) and _START.match(data, first_word(data)) is not None

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Parses and verifies the text in this process."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.explain(error, data, name) from None
        if nesting.too_deep(data):
            raise ReadError(
                f"{name}: looks like {self.name}, but nests more than {nesting.DEEPEST} levels deep, which MLIR cannot "
                "parse; no program is like that: write it again"
            )
        before, context.emit_error_diagnostics = context.emit_error_diagnostics, False
        try:
            module = ir.Module.parse(text, context)
        except ir.MLIRError as error:
            raise self.explain(error, data, name) from None
        finally:
            context.emit_error_diagnostics = before
        if naming.may_be_undecodable(data) and (found := naming.undecodable(module)):
            raise ReadError(f"{name}: holds the name {found}, which is no UTF-8; it is damaged, or give it in UTF-8")
        return module

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Writes the module as `print_text` does."""
        return print_text(module, style)

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Turns MLIR's first error into one line, with its place."""
        if isinstance(error, UnicodeDecodeError):
            return errors.not_utf8(data, name, self.name, error)
        assert isinstance(error, ir.MLIRError)
        first = error.error_diagnostics[0]
        message = errors.one_line(first.message)
        try:
            if naming.may_be_undecodable(data):
                raise ValueError("to look at its file could abort")
            place = ir.FileLineColLoc(first.location)
        except ValueError:
            return ReadError(f"{name}: looks like {self.name}, but {_problem(message)}")
        file, line, column = str(place.filename), place.start_line, place.start_col
        # MLIR calls the text itself "-"; an op with a location of its own is reported there.
        lines = data.decode().rstrip().split("\n")
        at_end = file == "-" and line >= len(lines) and column >= len(lines[-1]) - 1
        where = f"{name if file == '-' else file}:{line}:{column}"
        return ReadError(f"{where}: looks like {self.name}, but {_problem(message, at_end)}")


def _problem(message: str, at_end: bool = False) -> str:
    message = message.rstrip(".")  # some of MLIR's are sentences, and this is a clause
    if "unregistered dialect" in message:
        return "with an op of a dialect that is not registered; pass --allow-unregistered-dialect to let it through"
    if match := re.match(r"Dialect `(.*?)' not found for custom op '(.*?)'", message):
        return (
            f"with an op '{match[2]}' of the unknown dialect '{match[1]}'; "
            "write it in the generic form and pass --allow-unregistered-dialect"
        )
    if at_end:
        return f"does not parse: {message}; the text ends there: if it was cut off, write it again"
    return f"does not parse: {message}; correct it, or write it again with {errors.JAXLIB}"
