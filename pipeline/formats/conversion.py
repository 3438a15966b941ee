"""Converts bytes by MLIR and XLA, in a child process: damaged input aborts both, or keeps them busy for ever."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.errors import HloverlapError
from hloverlap.pipeline.children import child, ends
from hloverlap.pipeline.formats.convert_child import ANSWERS, Answer
from hloverlap.pipeline.formats.errors import first_message

# Seconds for a small input and for each byte more. The child limits its own processor time much more tightly; this is
# for one that waits for something, and for systems without such limits.
TIME_LIMIT, SECONDS_PER_BYTE = 60.0, 1e-3


class ConversionError(HloverlapError):
    """Says that a conversion did not work; the text is one line."""

    kind: Answer | ends.Kind
    """What the library had against the input, or else how the process ended that asked it."""

    def __init__(self, kind: Answer | ends.Kind, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def convert(conversion: str, data: bytes, allow_unregistered: bool = False) -> bytes:
    """Runs one of convert_child.CONVERSIONS. Raises ConversionError."""
    options = ["--allow-unregistered-dialect"] if allow_unregistered else []
    limit = TIME_LIMIT + SECONDS_PER_BYTE * len(data)
    end, written = child.run("hloverlap.pipeline.formats.convert_child", [conversion, *options], data, limit)
    if end.kind == "ok":
        return written
    if answer := ANSWERS.get(end.status):
        raise ConversionError(answer, written.decode("utf-8", "replace").strip())
    if end.kind == "exhausted":
        raise ConversionError("exhausted", "it asks for more memory than such a file can need")
    words = {"aborted": end.message, "timeout": end.message}
    raise ConversionError(end.kind, words.get(end.kind, f"the reader {end}"))


def to_module(conversion: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses what a child process made of `data`. Raises ConversionError."""
    converted = convert(conversion, data, context.allow_unregistered_dialects)
    try:
        return ir.Module.parse(converted, context)
    except ir.MLIRError as error:  # what MLIR accepted, it may write so that it cannot read it again
        raise ConversionError("malformed", first_message(error)) from None
