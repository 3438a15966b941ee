"""Conversions of bytes by MLIR and XLA, in a child process: damaged input aborts both, or keeps them busy for ever."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

from jaxlib.mlir import ir

from hloverlap.passes.errors import HloverlapError
from hloverlap.pipeline.formats.convert_child import INEXPRESSIBLE, MALFORMED, OPTIMIZED
from hloverlap.pipeline.formats.errors import first_message

# Seconds for a small input and for each byte more. The child limits its own processor time much more tightly; this is
# for one that waits for something, and for systems without such limits.
TIME_LIMIT, SECONDS_PER_BYTE = 60.0, 1e-3

_KINDS = {MALFORMED: "malformed", INEXPRESSIBLE: "inexpressible", OPTIMIZED: "optimized"}


class ConversionError(HloverlapError):
    """It did not work; the text is one line.

    kind: ``malformed`` (the input is not what it should be), ``inexpressible`` (the other format has no words for it),
    ``optimized`` (HLO with an instruction that only XLA's optimizations make: the text is its line), ``crashed`` (the
    library aborted) or ``endless``.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def convert(conversion: str, data: bytes, allow_unregistered: bool = False) -> bytes:
    """Runs one of convert_child.CONVERSIONS. Raises ConversionError."""
    command = [sys.executable, "-P", "-m", "hloverlap.pipeline.formats.convert_child", conversion]
    if allow_unregistered:
        command.append("--allow-unregistered-dialect")
    limit = TIME_LIMIT + SECONDS_PER_BYTE * len(data)
    # XLA aborts on flags that it does not know, and none of them matters here.
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    try:
        child = subprocess.run(command, input=data, capture_output=True, timeout=limit, env=environment, check=False)
    except subprocess.TimeoutExpired:
        raise ConversionError("endless", f"no end after {limit:.0f} s") from None
    if child.returncode == 0:
        return child.stdout
    if kind := _KINDS.get(child.returncode):
        raise ConversionError(kind, child.stdout.decode("utf-8", "replace").strip())
    if child.returncode == -signal.SIGXCPU:
        raise ConversionError("endless", "no end in any reasonable time")
    raise ConversionError("crashed", _last_words(child.returncode, child.stderr.decode("utf-8", "replace")))


def to_module(conversion: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses what a child process made of `data`. Raises ConversionError."""
    converted = convert(conversion, data, context.allow_unregistered_dialects)
    try:
        return ir.Module.parse(converted, context)
    except ir.MLIRError as error:  # what MLIR accepted, it may write so that it cannot read it again
        raise ConversionError("malformed", first_message(error)) from None


def _last_words(status: int, stderr: str) -> str:
    """The check that failed, where XLA names one."""
    check = re.search(r"^F\d{4} [^\]]*\] (.*)$", stderr, re.MULTILINE)
    if check:
        return check[1].strip()
    if "MemoryError" in stderr or "bad_alloc" in stderr:
        return "it asks for more memory than such a file can need"
    return f"the reader ended by signal {-status}" if status < 0 else f"the reader ended with status {status}"
