"""Says what is wrong with a module before it is compiled, as verify-collectives does."""

from __future__ import annotations

import dataclasses

from jaxlib.mlir import ir

from hloverlap.passes.checks import annotation_checks, flight_checks, unseen_checks
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.pipeline.audit.launches import ID_ATTRIBUTE

ABORTS = ("VCL001", "VCL009")  # what can abort XLA
JOINED = ("VCL009", "VCL010")  # what the combiner does


@dataclasses.dataclass(frozen=True)
class Foreseen:
    """What verify-collectives says of an op."""

    code: str
    """Of its remark."""
    ids: tuple[int, ...]
    """The collectives that it is about; () for compute."""
    text: str
    """Its sentence; where it is about no collective, it begins with what the op is."""


def foresee(
    module: ir.Operation, capabilities: Capabilities, combine_limit: int = COMBINE_THRESHOLD_DEFAULT
) -> list[Foreseen]:
    """Says what XLA will refuse, abort over or do otherwise than is meant; the module's collectives carry their ids.

    combine_limit: bytes that the combiner joins at most.
    """
    symbols = Symbols(module)
    faults = [
        *annotation_checks.find(module, symbols, capabilities),
        *(fault for fault in flight_checks.find(symbols, capabilities, combine_limit) if fault.code in JOINED),
        *unseen_checks.find(module, capabilities),
    ]
    found = []
    for fault in faults:
        labels = (frontend_attributes.read(op).get(ID_ATTRIBUTE) for op in (*fault.others, fault.op))
        ids = tuple(sorted({int(label) for label in labels if label is not None}))
        found.append(Foreseen(fault.code, ids, fault.text if ids else f"{_named(fault.op)}: {fault.text}"))
    return found


def _named(op: ir.Operation) -> str:
    file, line = source_of(op.location)
    where = f"line {line}" if file == "-" else f"{file}:{line}"
    return f"{op.name} of {where}" if line else op.name
