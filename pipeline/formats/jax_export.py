"""Reads and writes artifacts of jax.export: what only jax understands in them stays as it is."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.pipeline.formats import conversion, errors, export_artifact, portable
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Format, Source, Style, signature_of


class JaxExport(Format):
    """The format of what ``jax.export.export(f)(...).serialize()`` gives."""

    name = "a jax.export artifact"

    def sniff(self, data: bytes) -> bool:
        """Says whether the root table is that of an artifact."""
        return export_artifact.is_artifact(data)

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Takes the portable artifact out, and has a child process convert it."""
        try:
            return conversion.to_module("from_portable", export_artifact.module_of(data), context)
        except (export_artifact.MalformedError, conversion.ConversionError) as error:
            raise self.explain(error, data, name) from None

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Puts the module in the place of the artifact's own; its arguments and results must be those of `source`."""
        if source.format is not self:
            raise WriteError(
                f"{source.name}: only a jax.export artifact can be written as one, and {source.format.name} came in: "
                "nothing else tells the argument trees and the calling convention; use --emit=portable"
            )
        if signature_of(module) != source.signature:
            raise WriteError(
                f"{source.name}: cannot be written as a jax.export artifact: the pipeline changed the type of @main "
                f"from {source.signature} to {signature_of(module)}; use --emit=portable"
            )
        try:
            version = portable.version(export_artifact.module_of(source.original))
            return export_artifact.with_module(source.original, portable.serialize(module, version, source.name))
        except export_artifact.MalformedError as error:
            raise WriteError(f"{source.name}: cannot be written as a jax.export artifact: {error}") from None

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Explains that the artifact is damaged, or why StableHLO refuses the module in it."""
        if isinstance(error, export_artifact.MalformedError):
            return errors.broken(name, self.name, error)
        return portable.explain(error, export_artifact.module_of(data), name, self.name)
