"""From bytes in any format to a module, or to one line that says why not."""

from __future__ import annotations

import dataclasses
import re
import sys

import jaxlib.version
from jaxlib.mlir import ir

from hloverlap.pipeline import export_artifact, formats, protobuf
from hloverlap.pipeline.formats import Format

STDIN = "<stdin>"
_JAXLIB = f"jaxlib {jaxlib.version.__version__}"
_DAMAGED = f"it is damaged or cut off, or another version wrote it (this is {_JAXLIB})"


class ReadError(Exception):
    """There is no module to be had; the text is one line: the file, what it looks like, what to do."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A module as it came in.

    module: StableHLO, in the context given, free to be changed. name: of the file, for messages.
    original: the bytes that came in; writing needs them for the version of a portable artifact and for everything
        but the module of a jax.export artifact.
    """

    module: ir.Module
    format: Format
    name: str
    original: bytes


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
        raise ReadError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read(data: bytes, name: str, context: ir.Context) -> Source:
    """Reads a module of any format into `context`. Raises ReadError; MLIR prints nothing.

    MLIR text is parsed here. Everything else is first turned into MLIR bytecode by a process of its own, because MLIR
    and XLA may abort on damaged bytes, and is then as safe to parse as what this process wrote itself.
    """
    if not data:
        raise ReadError(f"{name}: empty; was the program that should have written it stopped?")
    found = formats.sniff(data)
    if found is None:
        kind, advice = formats.describe_unknown(data)
        raise ReadError(f"{name}: looks like {kind}; {advice}")
    match found:
        case Format.MLIR_TEXT:
            module = _parse_text(data, name, context)
        case Format.MLIR_BYTECODE:
            module = _parse_bytecode(data, name, context)
        case Format.PORTABLE:
            module = _parse_portable(data, name, found, context)
        case Format.EXPORT:
            try:
                portable = export_artifact.module_of(data)
            except export_artifact.MalformedError as error:
                raise _damaged(name, found, str(error)) from None
            module = _parse_portable(portable, name, found, context)
        case Format.HLO_TEXT:
            module = _parse_hlo_text(data, name, context)
        case Format.HLO_PROTO:
            module = _parse_hlo_proto(data, name, context)
    return Source(module, found, name, data)


def _parse_text(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{name}:{line}: looks like MLIR text, but is not UTF-8 (byte {error.start}); it is damaged, write it again"
        ) from None
    before, context.emit_error_diagnostics = context.emit_error_diagnostics, False
    try:
        return ir.Module.parse(text, context)
    except ir.MLIRError as error:
        first = error.error_diagnostics[0]
        raise ReadError(
            f"{_place(first.location, name)}: {_text_problem(first.message, first.location, text)}"
        ) from None
    finally:
        context.emit_error_diagnostics = before


def _text_problem(message: str, location: ir.Location, text: str) -> str:
    """What is wrong with MLIR text, and what to do."""
    message = _one_line(message)
    if "unregistered dialect" in message:
        message = "an op of a dialect that is not registered"
        advice = "pass --allow-unregistered-dialect to let it through"
    elif match := re.match(r"Dialect `(.*?)' not found for custom op '(.*?)'", message):
        message = f"an op '{match[2]}' of the unknown dialect '{match[1]}'"
        advice = "write it in the generic form and pass --allow-unregistered-dialect"
    elif isinstance(location, ir.FileLineColLoc) and location.start_line >= text.rstrip().count("\n") + 1:
        advice = "the text ends there; if it was cut off, write it again"
    else:
        advice = f"correct it, or write it again with {_JAXLIB}"
    return f"looks like MLIR text, but does not parse: {message}; {advice}"


def _parse_bytecode(data: bytes, name: str, context: ir.Context) -> ir.Module:
    from hloverlap.pipeline import converting

    try:
        return _parse_safe("from_bytecode", data, context)
    except converting.ConversionError as error:
        if "unregistered dialect" in str(error) or "allow-unregistered" in str(error):
            raise ReadError(
                f"{name}: MLIR bytecode with ops of a dialect that is not registered; "
                "pass --allow-unregistered-dialect to let them through"
            ) from None
        writer = formats.producer(data)
        raise ReadError(
            f"{name}: looks like MLIR bytecode{f' by {writer}' if writer else ''}, but {_cannot(error)}; {_DAMAGED}: "
            "write it again as MLIR text or as a portable artifact"
        ) from None


def _parse_portable(data: bytes, name: str, found: Format, context: ir.Context) -> ir.Module:
    from jaxlib.mlir.dialects import stablehlo

    from hloverlap.pipeline import converting

    try:
        return _parse_safe("from_portable", data, context)
    except converting.ConversionError as error:
        version = formats.portable_version(data)
        lowest, highest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
        if version and not _key(lowest) <= _key(version) <= _key(highest):
            age = "too old" if _key(version) < _key(lowest) else "too new"
            raise ReadError(
                f"{name}: looks like {found.value} for StableHLO {version}, which is {age}: {_JAXLIB} reads {lowest} "
                f"to {highest}; write it again for one of these"
            ) from None
        raise _damaged(name, found, _cannot(error)) from None


def _parse_hlo_text(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(name, Format.HLO_TEXT, f"is not UTF-8 (byte {error.start})") from None
    module = _parse_hlo("from_hlo_text", data, name, Format.HLO_TEXT, context)
    start = data.find(b"HloModule")
    header = data[start : data.find(b"\n", start)].decode() if start >= 0 else ""
    _set_counts(module, _header_count(header, "replica_count"), _header_count(header, "num_partitions"))
    return module


def _parse_hlo_proto(data: bytes, name: str, context: ir.Context) -> ir.Module:
    try:
        proto = protobuf.hlo_module(data)
        counts = protobuf.device_counts(proto)
    except protobuf.MalformedError as error:
        raise _damaged(name, Format.HLO_PROTO, str(error)) from None
    module = _parse_hlo("from_hlo_proto", bytes(proto), name, Format.HLO_PROTO, context)
    if counts:
        _set_counts(module, *counts)
    return module


def _parse_hlo(conversion: str, data: bytes, name: str, found: Format, context: ir.Context) -> ir.Module:
    from hloverlap.pipeline import converting

    try:
        return _parse_safe(conversion, data, context)
    except converting.ConversionError as error:
        if error.kind == "inexpressible":
            what = "StableHLO cannot express"
            if b"collective-permute" in data and re.search("collective_permute|async_", str(error)):
                what += " permutes of several operands or their asynchronous form"
            elif "dialect 'mhlo'" in str(error):
                what += " its fusions and other optimized instructions"
            else:
                what += f" it: {_one_line(str(error))}"
            raise ReadError(
                f"{name}: {found.value} after XLA's optimizations, it seems, and {what}; "
                "take the dump before optimizations (*.before_optimizations.txt or .hlo.pb)"
            ) from None
        if match := re.search(r"was parsing (\d+):(\d+): error: ([^\n]*)", str(error)):
            name = f"{name}:{match[1]}:{match[2]}"
            raise _damaged(name, found, f"XLA cannot parse it: {match[3].rstrip(': ')}") from None
        raise _damaged(name, found, _cannot(error)) from None


def _parse_safe(conversion: str, data: bytes, context: ir.Context) -> ir.Module:
    """Parses what a child process made of `data`. Raises ConversionError."""
    from hloverlap.pipeline import converting

    return ir.Module.parse(converting.convert(conversion, data, context.allow_unregistered_dialects), context)


def _set_counts(module: ir.Module, replicas: int | None, partitions: int | None) -> None:
    """What HLO keeps beside the module and its conversion drops: for how many devices it is."""
    with module.context:
        number = ir.IntegerType.get_signless(32)
        for name, count in (("mhlo.num_partitions", partitions), ("mhlo.num_replicas", replicas)):
            if count is not None:
                module.operation.attributes[name] = ir.IntegerAttr.get(number, count)


def _header_count(header: str, key: str) -> int | None:
    match = re.search(rf", {key}=(\d+)(?=,|$)", header)
    return int(match[1]) if match else None


def _damaged(name: str, found: Format, problem: str) -> ReadError:
    return ReadError(f"{name}: looks like {found.value}, but {problem}; {_DAMAGED}: write it again")


def _cannot(error: Exception) -> str:
    return f"cannot be read: {_one_line(str(error))}"


def _place(location: ir.Location, name: str) -> str:
    """``file:line:column`` of a diagnostic; `name` for places in the text itself."""
    if not isinstance(location, ir.FileLineColLoc):
        return name
    file = str(location.filename)
    return f"{name if file == '-' else file}:{location.start_line}:{location.start_col}"


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _one_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
