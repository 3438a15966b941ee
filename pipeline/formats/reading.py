"""From bytes in any format to a module, or to one line that says why not."""

from __future__ import annotations

import dataclasses
import re
import sys

from jaxlib.mlir import ir

from hloverlap.passes.mlir.modules import PARTITIONS, REPLICAS, entry_function
from hloverlap.pipeline.formats import explanations, export_artifact, naming, nesting, protobuf
from hloverlap.pipeline.formats import kinds as formats
from hloverlap.pipeline.formats.explanations import ReadError as ReadError
from hloverlap.pipeline.formats.kinds import Format

STDIN = "<stdin>"
_LONGEST_NAME = 200  # characters of a name that no file has, in a message


@dataclasses.dataclass(frozen=True)
class Source:
    """A module as it came in.

    module: StableHLO, in the context given, free to be changed. name: of the file, for messages.
    original: the bytes that came in; writing needs them for the version of a portable artifact and for everything
        but the module of a jax.export artifact.
    signature: the type of @main when it came in, "" without one; what surrounds an exported module relies on it.
    """

    module: ir.Module
    format: Format
    name: str
    original: bytes
    signature: str = ""


def read_path(path: str, context: ir.Context) -> Source:
    """Reads the module in a file, or on stdin for ``-``. Raises ReadError."""
    data, name = load(path)
    return read(data, name, context)


def load(path: str) -> tuple[bytes, str]:
    """The bytes of a file, or of stdin for ``-``, and what to call it. Raises ReadError."""
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
    found = formats.sniff(data)
    match found:
        case None:
            raise explanations.unknown(data, name)
        case Format.MLIR_TEXT:
            module = _parse_text(data, name, context)
        case Format.HLO_TEXT:
            module = _parse_hlo_text(data, name, context)
        case Format.HLO_PROTO:
            module = _parse_hlo_proto(data, name, context)
        case _:
            module = _parse_bytecode(data, name, found, context)
    return Source(module, found, name, data, signature_of(module))


def signature_of(module: ir.Module) -> str:
    """The type of @main, without attributes; "" when there is none."""
    main = entry_function(module)
    return "" if main is None else str(main.attributes["function_type"])


def _parse_text(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise explanations.not_utf8(data, name, Format.MLIR_TEXT, error) from None
    if nesting.too_deep(data):
        raise explanations.too_deep(name)
    before, context.emit_error_diagnostics = context.emit_error_diagnostics, False
    try:
        module = ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise explanations.text(error, text, name) from None
    finally:
        context.emit_error_diagnostics = before
    if naming.may_be_undecodable(data) and (found := naming.undecodable(module)):
        raise explanations.undecodable(found, name)
    return module


def _parse_bytecode(data: bytes, name: str, found: Format, context: ir.Context) -> ir.Module:
    from hloverlap.pipeline.formats import conversion

    if found is Format.EXPORT:
        try:
            data = export_artifact.module_of(data)
        except export_artifact.MalformedError as error:
            raise explanations.broken(name, found, error) from None
    try:
        return _convert("from_bytecode" if found is Format.MLIR_BYTECODE else "from_portable", data, context)
    except conversion.ConversionError as error:
        if found is Format.MLIR_BYTECODE:
            raise explanations.bytecode(error, data, name) from None
        raise explanations.portable(error, data, name, found) from None


def _parse_hlo_text(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise explanations.not_utf8(data, name, Format.HLO_TEXT, error) from None
    module = _parse_hlo("from_hlo_text", data, name, Format.HLO_TEXT, context)
    header = re.search(rb"^\s*HloModule.*", data, re.MULTILINE)
    counts = dict(re.findall(rb", (replica_count|num_partitions)=(\d{1,9})(?=,|$)", header[0])) if header else {}
    for key, attribute in ((b"replica_count", REPLICAS), (b"num_partitions", PARTITIONS)):
        if key in counts:
            _set_count(module, attribute, int(counts[key]))
    return module


def _parse_hlo_proto(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        proto = protobuf.hlo_module(data)
        counts = protobuf.device_counts(proto)
    except protobuf.MalformedError as error:
        raise explanations.broken(name, Format.HLO_PROTO, error) from None
    module = _parse_hlo("from_hlo_proto", bytes(proto), name, Format.HLO_PROTO, context)
    if counts is not None:
        _set_count(module, REPLICAS, counts[0])
        _set_count(module, PARTITIONS, counts[1])
    return module


def _parse_hlo(way: str, data: bytes, name: str, found: Format, context: ir.Context) -> ir.Module:
    from hloverlap.pipeline.formats import conversion

    try:
        return _convert(way, data, context)
    except conversion.ConversionError as error:
        raise explanations.hlo(error, data, name, found) from None


def _convert(way: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses what a child process made of `data`. Raises ConversionError."""
    from hloverlap.pipeline.formats import conversion

    converted = conversion.convert(way, data, context.allow_unregistered_dialects)
    try:
        return ir.Module.parse(converted, context)
    except ir.MLIRError as error:  # what MLIR accepted, it may write so that it cannot read it again
        raise conversion.ConversionError("malformed", explanations.first_message(error)) from None


def _set_count(module: ir.Module, attribute: str, count: int) -> None:
    """For how many devices it is: HLO keeps that beside the module, and its conversion to StableHLO drops it."""
    if 0 < count < 2**31:
        number = ir.IntegerType.get_signless(32, module.context)
        module.operation.attributes[attribute] = ir.IntegerAttr.get(number, count)
