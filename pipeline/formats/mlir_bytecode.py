"""Reads and writes MLIR bytecode: a faithful image of a module, for the same version of MLIR."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.mlir.modules import bytecode
from hloverlap.pipeline.formats import conversion, errors, portable
from hloverlap.pipeline.formats.errors import ReadError
from hloverlap.pipeline.formats.format import Format, Source, Style

_PRODUCER = re.compile(rb"ML\xefR.([ -~]{1,80})\0", re.DOTALL)


class MlirBytecode(Format):
    """The format of what ``module.operation.write_bytecode`` gives."""

    name = "MLIR bytecode"
    needs_whole_constants = False

    def sniff(self, data: bytes) -> bool:
        """Says whether the magic number is MLIR's, and the dialect not StableHLO's versioned one."""
        return data.startswith(portable.MAGIC) and portable.version(data) is None

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Has a child process read, verify and write the bytecode, and parses what it wrote."""
        try:
            return conversion.to_module("from_bytecode", data, context)
        except conversion.ConversionError as error:
            raise self.explain(error, data, name) from None

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Writes the module as bytecode."""
        return bytecode(module)

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Explains that MLIR refuses the bytecode."""
        if "unregistered dialect" in str(error) or "allow-unregistered" in str(error):
            return ReadError(
                f"{name}: {self.name} with ops of a dialect that is not registered; "
                "pass --allow-unregistered-dialect to let them through"
            )
        producer = _PRODUCER.match(data)
        writer = f" by {producer[1].decode()}" if producer else ""
        return ReadError(
            f"{name}: looks like {self.name}{writer}, but {errors.cannot(error)}; {errors.DAMAGED}: "
            "write it again as MLIR text or as a portable artifact"
        )
