"""Reads and writes StableHLO's portable artifacts: bytecode of a versioned dialect, for other versions to read."""

from __future__ import annotations

import re

from jaxlib.mlir import ir

from hloverlap.passes.mlir import diagnostics, mhlo
from hloverlap.passes.mlir.modules import copy_of
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.formats import conversion, errors
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Format, Source, Style

MAGIC = b"ML\xefR"  # of all MLIR bytecode

_PRODUCER = re.compile(rb"ML\xefR.StableHLO_v(\d+\.\d+\.\d+)\0", re.DOTALL)


class PortableArtifact(Format):
    """The format of what ``stablehlo.serialize_portable_artifact`` gives."""

    name = "a StableHLO portable artifact"

    def sniff(self, data: bytes) -> bool:
        """Says whether the bytecode names a version of StableHLO."""
        return version(data) is not None

    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Has a child process convert the artifact to StableHLO of this version."""
        try:
            return conversion.to_module("from_portable", data, context)
        except conversion.ConversionError as error:
            raise self.explain(error, data, name) from None

    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Writes an artifact for the version that `source` was for, where it was one."""
        return serialize(module, version(source.original), source.name)

    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Explains why StableHLO refuses the artifact."""
        return explain(error, data, name, self.name)


def version(data: bytes) -> str | None:
    """Gives the version of StableHLO, e.g. ``1.15.0``, that an artifact is for; None for anything else."""
    match = _PRODUCER.match(data)
    return match[1].decode() if match else None


def serialize(module: ir.Module, wanted: str | None, name: str) -> bytes:
    """Writes an artifact for the version that is `wanted`. Raises WriteError, which calls the module `name`.

    Where none is, it is the one that jax.export aims at: a month old, so that consumers which are a little behind can
    read it. A module that needs a newer one gets the newest.
    """
    from jaxlib.mlir.dialects import stablehlo

    if wanted is not None:
        candidates = [wanted]
    else:
        month = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
        candidates = [month, stablehlo.get_current_version()]
    reason = ""
    for candidate in candidates:
        copy = copy_of(module)  # serializing turns the module itself into VHLO
        mhlo.to_stablehlo(copy.operation)
        found: list[Remark] = []
        with diagnostics.collected(module.context, found):
            try:
                return bytes(stablehlo.serialize_portable_artifact(copy, candidate, True))
            except ValueError as error:
                reason = found[0].message if found else str(error)
    raise WriteError(
        f"{name}: cannot be written as a portable artifact for StableHLO {candidates[-1]}: {errors.one_line(reason)}; "
        "use --emit=bytecode"
    )


def explain(error: Exception, data: bytes, name: str, what: str) -> ReadError:
    """Explains why StableHLO refuses an artifact, which is what `what` is or holds."""
    from jaxlib.mlir.dialects import stablehlo

    found = version(data)
    lowest, highest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    if found and not _key(lowest) <= _key(found) <= _key(highest):
        age = "too old" if _key(found) < _key(lowest) else "too new"
        return ReadError(
            f"{name}: looks like {what} for StableHLO {found}, which is {age}: {errors.JAXLIB} reads {lowest} "
            f"to {highest}; write it again for one of these"
        )
    return errors.damaged(name, what, errors.cannot(error))


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
