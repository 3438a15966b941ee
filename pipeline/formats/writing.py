"""From a module to bytes in any format, and from bytes to a file, whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import sys

from jaxlib.mlir import ir

from hloverlap.passes.mlir import diagnostics, mhlo
from hloverlap.passes.mlir.elision import describe_elided
from hloverlap.passes.mlir.modules import PARTITIONS, REPLICAS, bytecode, copy_of
from hloverlap.pipeline.formats import export_artifact
from hloverlap.pipeline.formats import kinds as formats
from hloverlap.pipeline.formats.kinds import Format
from hloverlap.pipeline.formats.reading import Source, signature_of


class WriteError(Exception):
    """Nothing was written; the text is one line."""


def serialize(
    source: Source,
    module: ir.Module,
    format: Format | None,
    debuginfo: bool = False,
    elide_larger_than: int | None = None,
) -> bytes:
    """`module`, which `source` became, in `format`; None: as it came in, or MLIR text where HLO came in.

    debuginfo: with locations, in MLIR text and HLO text; the other formats always carry them.
    elide_larger_than: constants of more elements than this are left out of MLIR text.
    `module` is not changed. Raises WriteError.
    """
    if format is None:
        format = Format.MLIR_TEXT if source.format in (Format.HLO_TEXT, Format.HLO_PROTO) else source.format
    if format in (Format.PORTABLE, Format.EXPORT, Format.HLO_TEXT) and (elided := describe_elided(module.operation)):
        raise WriteError(f"{source.name}: cannot be written so: {elided}")
    match format:
        case Format.MLIR_TEXT:
            return _text(module, debuginfo, elide_larger_than)
        case Format.MLIR_BYTECODE:
            return bytecode(module)
        case Format.PORTABLE:
            return _portable(source, module)
        case Format.EXPORT:
            return _export(source, module)
        case Format.HLO_TEXT:
            return _hlo_text(source, module, debuginfo)
        case Format.HLO_PROTO:
            raise WriteError(f"{source.name}: an HLO proto is only read; use --emit=hlo for HLO text")


def write_whole(data: bytes, path: str) -> None:
    """Writes a file, or stdout for ``-``; at every moment the file is the old one or the new one.

    An existing file keeps its permissions, and a symbolic link its place: what it points to is replaced. Devices and
    pipes are written directly. Raises WriteError, and leaves nothing behind then.
    """
    if path == "-":
        return _write_stdout(data)
    try:
        target = os.path.realpath(path)
        existing = os.stat(target) if os.path.lexists(target) else None
        if existing is not None and not stat.S_ISREG(existing.st_mode):
            with open(target, "wb") as file:
                file.write(data)
            return None
        if existing is not None and not os.access(target, os.W_OK):
            raise WriteError(f"{path}: cannot be written: Permission denied")
        _replace(target, data, existing)
    except FileNotFoundError:
        raise WriteError(f"{path}: cannot be written: there is no such folder; make it first") from None
    except IsADirectoryError:
        raise WriteError(f"{path}: a folder; give the name of a file") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise WriteError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None
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
    except OSError as error:
        # Otherwise the interpreter tries again at its end, and complains.
        with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        reason = "its reader is gone" if isinstance(error, BrokenPipeError) else error.strerror or error
        raise WriteError(f"<stdout>: cannot be written: {reason}") from None


def _text(module: ir.Module, debuginfo: bool, elide_larger_than: int | None) -> bytes:
    """What ``print(module)`` gives, which is what mlir-opt gives."""
    text = io.BytesIO()
    module.operation.print(file=text, binary=True, enable_debug_info=debuginfo, large_elements_limit=elide_larger_than)
    text.write(b"\n")
    return text.getvalue()


def _portable(source: Source, module: ir.Module) -> bytes:
    """For the StableHLO version that came in, else for the one that jax.export aims at: a month old, so that
    consumers which are a little behind can read it. A module that needs a newer one gets the newest."""
    from jaxlib.mlir.dialects import stablehlo

    version = formats.portable_version(source.original)
    if version is None and source.format is Format.EXPORT:
        version = formats.portable_version(export_artifact.module_of(source.original))
    if version is not None:
        candidates = [version]
    else:
        month = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
        candidates = [month, stablehlo.get_current_version()]
    reason = ""
    for candidate in candidates:
        copy = copy_of(module)  # serializing turns the module itself into VHLO
        mhlo.to_stablehlo(copy.operation)
        found: list[diagnostics.Diagnostic] = []
        with diagnostics.collected(module.context, found):
            try:
                return bytes(stablehlo.serialize_portable_artifact(copy, candidate, True))
            except ValueError as error:
                reason = found[0].message if found else str(error)
    raise WriteError(
        f"{source.name}: cannot be written as a portable artifact for StableHLO {candidates[-1]}: "
        f"{' '.join(reason.split())[:300]}; use --emit=bytecode"
    )


def _export(source: Source, module: ir.Module) -> bytes:
    if source.format is not Format.EXPORT:
        raise WriteError(
            f"{source.name}: only a jax.export artifact can be written as one, and {source.format.value} came in: "
            "nothing else tells the argument trees and the calling convention; use --emit=portable"
        )
    if signature_of(module) != source.signature:
        raise WriteError(
            f"{source.name}: cannot be written as a jax.export artifact: the pipeline changed the type of @main from "
            f"{source.signature} to {signature_of(module)}; use --emit=portable"
        )
    try:
        return export_artifact.with_module(source.original, _portable(source, module))
    except export_artifact.MalformedError as error:
        raise WriteError(f"{source.name}: cannot be written as a jax.export artifact: {error}") from None


def _hlo_text(source: Source, module: ir.Module, debuginfo: bool) -> bytes:
    """As ``lowered.as_text("hlo")`` gives it, and with the number of devices, which that leaves out."""
    from hloverlap.pipeline.formats import conversion

    way = "to_hlo_text_with_metadata" if debuginfo else "to_hlo_text"
    try:
        text = conversion.convert(way, bytecode(module), module.context.allow_unregistered_dialects)
    except conversion.ConversionError as error:
        raise WriteError(
            f"{source.name}: XLA cannot express it as HLO: {' '.join(str(error).split())[:300]}; use --emit=mlir"
        ) from None
    header, rest = text.split(b"\n", 1)
    attributes = module.operation.attributes
    for key, name in (("replica_count", REPLICAS), ("num_partitions", PARTITIONS)):
        if name in attributes and not re.search(rf", {key}=\d".encode(), header):
            count = ir.IntegerAttr(attributes[name]).value
            header += f", {key}={count}".encode() if count > 1 else b""
    return b"\n".join((header, rest))
