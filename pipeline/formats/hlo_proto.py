"""Reads serialized HLO, bare or as XLA wraps it in what it dumps."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.modules import PARTITIONS, REPLICAS
from hloverlap.pipeline.formats import conversion, errors, hlo_text, protobuf
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Format, Source, Style


class HloProto(Format):
    """The format of what ``--xla_dump_hlo_as_proto`` gives. It is only read."""

    name = "an HLO proto"
    keeps_stablehlo = False

    def sniff(self, data: bytes) -> bool:
        """Says whether a protobuf message begins as an HloModuleProto does, bare or wrapped."""
        return protobuf.is_hlo(data)

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Unwraps the HloModuleProto, and has a child process convert it to StableHLO."""
        try:
            proto = protobuf.hlo_module(data)
            counts = protobuf.device_counts(proto)
            module = conversion.to_module("from_hlo_proto", bytes(proto), context)
        except (protobuf.MalformedError, conversion.ConversionError) as error:
            raise self.explain(error, data, name) from None
        if counts is not None:
            hlo_text.set_count(module, REPLICAS, counts[0])
            hlo_text.set_count(module, PARTITIONS, counts[1])
        return module

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Refuses: a proto is only read."""
        raise WriteError(f"{source.name}: an HLO proto is only read; use --emit=hlo for HLO text")

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Explains why XLA refuses HLO, or why StableHLO cannot express it."""
        if isinstance(error, protobuf.MalformedError):
            return errors.broken(name, self.name, error)
        return hlo_text.explain(error, data, name, self.name)
