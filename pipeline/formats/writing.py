"""Writes a module as bytes in any format, and bytes to a file, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from jaxlib.mlir import ir

from hloverlap.passes.mlir.elision import describe_elided
from hloverlap.pipeline.formats import table
from hloverlap.pipeline.formats.errors import WriteError
from hloverlap.pipeline.formats.format import Format, Source, Style


def serialize(
    source: Source,
    module: ir.Module,
    format: Format | None,
    debuginfo: bool = False,
    elide_larger_than: int | None = None,
) -> bytes:
    """Writes `module`, which `source` became, in `format`; None: as it came in, or MLIR text where HLO came in.

    debuginfo, elide_larger_than: see Style. `module` is not changed. Raises WriteError.
    """
    if format is None:
        format = source.format if source.format.keeps_stablehlo else table.MLIR_TEXT
    if format.needs_whole_constants and (elided := describe_elided(module.operation)):
        raise WriteError(f"{source.name}: cannot be written so: {elided}")
    return format.write(module, source, Style(debuginfo, elide_larger_than))


def write_whole(data: bytes, path: str) -> None:
    """Writes a file, or stdout for ``-``; at every moment the file is the old one or the new one.

    An existing file keeps its permissions, and a symbolic link its place: what it points to is replaced. Devices and
    pipes are written directly. Raises WriteError, and leaves nothing behind then; BrokenPipeError, when a pipe's
    reader is gone, is left to the caller.
    """
    if path == "-":
        return _write_stdout(data)
    try:
        existing = _status(path)
        if existing is not None and not stat.S_ISREG(existing.st_mode):
            with open(path, "wb") as file:
                file.write(data)
            return None
        target = os.path.realpath(path)
        if existing is not None and not os.access(target, os.W_OK):
            raise WriteError(f"{path}: cannot be written: Permission denied")
        _replace(target, data, existing)
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise WriteError(f"{path}: cannot be written: there is no such folder; make it first") from None
    except IsADirectoryError:
        raise WriteError(f"{path}: a folder; give the name of a file") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise WriteError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
    return None


def _status(path: str) -> os.stat_result | None:
    """Looks what is at `path`; None for nothing.

    /dev/stdout may be a pipe, which has no name that a link could lead to.
    """
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _replace(target: str, data: bytes, existing: os.stat_result | None) -> None:
    """Writes beside the target, then takes its name."""
    temporary = os.path.join(os.path.dirname(target), f".hlo-opt-{os.urandom(6).hex()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            if existing is not None:
                os.chmod(temporary, stat.S_IMODE(existing.st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # also when the user or a signal interrupts
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _write_stdout(data: bytes) -> None:
    if sys.stdout is None:
        raise WriteError("<stdout>: closed; give a file with -o")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Otherwise the interpreter tries again at its end, and complains.
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise WriteError(f"<stdout>: cannot be written: {error.strerror or error}") from None
