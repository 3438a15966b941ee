"""The formats in which a module lies on disk, told apart by content, never by the name of the file."""

from __future__ import annotations

import enum
import re

from hloverlap.pipeline.formats import export_artifact, protobuf

MLIR_MAGIC = b"ML\xefR"
_PRODUCER_OF_PORTABLE = re.compile(rb"ML\xefR.StableHLO_v(\d+\.\d+\.\d+)\0", re.DOTALL)
_PRODUCER = re.compile(rb"ML\xefR.([ -~]{1,80})\0", re.DOTALL)

_BLANKS_AND_COMMENTS = re.compile(rb"(?:\s|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_HLO_START = re.compile(rb"(?:HloModule|ENTRY)\s")
# An op in quotes, `module`, a dictionary of resources or nothing but comments; or an op with its dialect, an alias, a
# value or a block. Binary data may look like the latter by chance, and goes on with bytes that no text has.
_MLIR_START = re.compile(
    rb'"[\w.$-]+"|module\b|\{-#|\Z|'
    rb"(?:[A-Za-z_][\w$]*\.[\w$.]|[#!%^@]\w)(?!.{0,16}[\x00-\x08\x0e-\x1f\x80-\xff])",
    re.DOTALL,
)

# What else people hand over: first bytes, what it is, what to do.
_OTHER_KINDS = (
    (b"\x1f\x8b", "gzip", "decompress it first (gunzip)"),
    (b"\x28\xb5\x2f\xfd", "zstd", "decompress it first (zstd -d)"),
    (b"BZh", "bzip2", "decompress it first (bunzip2)"),
    (b"\xfd7zXZ\0", "xz", "decompress it first (unxz)"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"\x7fELF", "an ELF binary", "give the module, not what it was compiled to"),
    (b"BC\xc0\xde", "LLVM bitcode", "give the StableHLO or HLO module, not LLVM's"),
    (b"\x93NUMPY", "a NumPy array", "give a module"),
    (b"\x89HDF\r\n", "an HDF5 file", "give a module"),
    (b"%PDF", "a PDF", "give a module"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    (b"\xef\xbb\xbf", "text with a byte order mark", "save it as UTF-8 without the mark"),
    (b"#!", "a script", "give the module that the script lowers"),
    (b"<", "XML or HTML", "give a module"),
)


class Format(enum.Enum):
    """One format; the value is its name in messages."""

    MLIR_TEXT = "MLIR text"
    MLIR_BYTECODE = "MLIR bytecode"
    PORTABLE = "a StableHLO portable artifact"
    EXPORT = "a jax.export artifact"
    HLO_TEXT = "HLO text"
    HLO_PROTO = "an HLO proto"


EMIT = {
    "mlir": Format.MLIR_TEXT,
    "bytecode": Format.MLIR_BYTECODE,
    "portable": Format.PORTABLE,
    "export": Format.EXPORT,
    "hlo": Format.HLO_TEXT,
}


def sniff(data: bytes) -> Format | None:
    """The format that `data` has, or had before it was cut off or damaged further in; None when it is none of ours."""
    if data.startswith(MLIR_MAGIC):
        return Format.PORTABLE if portable_version(data) else Format.MLIR_BYTECODE
    start = _BLANKS_AND_COMMENTS.match(data)
    position = start.end() if start else 0
    if _HLO_START.match(data, position):
        return Format.HLO_TEXT
    if data.strip() and _MLIR_START.match(data, position):
        return Format.MLIR_TEXT
    if protobuf.is_hlo(data):
        return Format.HLO_PROTO
    if export_artifact.is_artifact(data):
        return Format.EXPORT
    return None


def portable_version(data: bytes) -> str | None:
    """The StableHLO version, e.g. ``1.15.0``, for which a portable artifact was written; None for anything else."""
    match = _PRODUCER_OF_PORTABLE.match(data)
    return match[1].decode() if match else None


def producer(data: bytes) -> str:
    """Who wrote MLIR bytecode, e.g. ``MLIR23.0.0git``; "" when it does not say."""
    match = _PRODUCER.match(data)
    return match[1].decode() if match else ""


def describe_unknown(data: bytes) -> tuple[str, str]:
    """For what `sniff` does not know: what it looks like, and what to do about it."""
    for magic, kind, advice in _OTHER_KINDS:
        if data.startswith(magic):
            return kind, advice
    if re.match(rb"\x80[\x02-\x05]", data):
        return "a Python pickle", "give a module, such as what jax.export's serialize() returns"
    if re.match(rb"\x78[\x01\x9c\xda]", data):
        return "zlib data (as in jax's compilation cache)", "dump the module with JAX_DUMP_IR_TO instead"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        return "binary data of no known kind", _KNOWN
    if re.match(r'\s*(\{\s*["}]|\[)', text):
        return "JSON", "give a module"
    return "text, but neither MLIR nor HLO", _KNOWN


_KNOWN = (
    "give MLIR text or bytecode, a portable artifact, a jax.export artifact, or HLO text or proto from --xla_dump_to"
)
