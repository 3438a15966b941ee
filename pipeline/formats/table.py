"""Lists the formats in which a module lies on disk, told apart by content, never by the name of the file."""

from __future__ import annotations

from hloverlap.pipeline.formats.format import Format
from hloverlap.pipeline.formats.hlo_proto import HloProto
from hloverlap.pipeline.formats.hlo_text import HloText
from hloverlap.pipeline.formats.jax_export import JaxExport
from hloverlap.pipeline.formats.mlir_bytecode import MlirBytecode
from hloverlap.pipeline.formats.mlir_text import MlirText
from hloverlap.pipeline.formats.portable import PortableArtifact

MLIR_TEXT = MlirText()
MLIR_BYTECODE = MlirBytecode()
PORTABLE = PortableArtifact()
EXPORT = JaxExport()
HLO_TEXT = HloText()
HLO_PROTO = HloProto()

# In the order in which they are tried: what is said most surely comes first.
FORMATS: tuple[Format, ...] = (PORTABLE, MLIR_BYTECODE, HLO_TEXT, MLIR_TEXT, HLO_PROTO, EXPORT)

# The values of --emit.
EMIT: dict[str, Format] = {
    "mlir": MLIR_TEXT,
    "bytecode": MLIR_BYTECODE,
    "portable": PORTABLE,
    "export": EXPORT,
    "hlo": HLO_TEXT,
}


def sniff(data: bytes) -> Format | None:
    """Gives the format that `data` has, or had before it was damaged further in; None when it is none of ours."""
    return next((format for format in FORMATS if format.sniff(data)), None)
