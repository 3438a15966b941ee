"""Explains files that hold no module: what they look like, and what to do about it."""

from __future__ import annotations

import re

from hloverlap.pipeline.formats.errors import ReadError

# First bytes, what it is, what to do. Only what stands between a user and the module is told apart.
_KINDS = (
    (rb"\x1f\x8b", "gzip", "decompress it first (gunzip)"),
    (rb"\x28\xb5\x2f\xfd", "zstd", "decompress it first (zstd -d)"),
    (rb"\x78[\x01\x9c\xda]", "zlib data (as in jax's compilation cache)", "dump the module with JAX_DUMP_IR_TO"),
    (rb"PK\x03\x04", "a zip archive, such as an .npz", "unpack the module first"),
    (rb"\x80[\x02-\x05]", "a Python pickle", "give a module, such as what jax.export's serialize() returns"),
    (rb"\xff\xfe|\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    (rb"\xef\xbb\xbf", "text with a byte order mark", "save it as UTF-8 without the mark"),
    (rb"#!", "a script", "give the module that the script lowers"),
)
_KNOWN = (
    "give MLIR text or bytecode, a portable artifact, a jax.export artifact, or HLO text or proto from --xla_dump_to"
)


def explain(data: bytes, name: str) -> ReadError:
    """Explains what no format of ours begins like."""
    if not data.strip():
        return ReadError(f"{name}: empty; was the program that should have written it stopped?")
    for magic, kind, advice in _KINDS:
        if re.match(magic, data):
            return ReadError(f"{name}: looks like {kind}; {advice}")
    kind = "text, but neither MLIR nor HLO" if _is_text(data) else "binary data of no known kind"
    return ReadError(f"{name}: looks like {kind}; {_KNOWN}")


def _is_text(data: bytes) -> bool:
    try:
        return not re.search(r"[\x00-\x08\x0e-\x1f]", data.decode("utf-8"))
    except UnicodeDecodeError:
        return False
