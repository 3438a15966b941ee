"""Numbers a module's collectives so that XLA's thunks can be tied back to them, and notes what they are."""

from __future__ import annotations

import dataclasses

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, Collective, collectives_in
from hloverlap.passes.analysis.required_devices import required_counts
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT
from hloverlap.passes.mlir import frontend_attributes, mhlo
from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.mlir.modules import bytecode, set_device_counts, uses_shardy
from hloverlap.passes.mlir.symbols import symbol_name
from hloverlap.passes.mlir.walk import function_of
from hloverlap.pipeline.audit.foresight import Foreseen, foresee
from hloverlap.pipeline.audit.launches import ID_ATTRIBUTE


@dataclasses.dataclass(frozen=True)
class CollectiveOp:
    """A collective of the module."""

    id: int
    """Its place in program order, from 0."""
    kind: str
    """The op's name without its dialect, e.g. ``collective_permute``."""
    bytes: int
    """What one partition puts in."""
    pairs: tuple[Pair, ...]
    """The source-target pairs of a permute."""
    stream: str | None
    """Its stream annotation as written, or None."""
    key: str | None
    """Its combiner key, or None."""
    file: str
    """Where the user wrote it; "" when unknown."""
    line: int
    """The line in `file`, from 1; 0 when unknown."""
    function: str
    """The function that holds it."""


@dataclasses.dataclass(frozen=True)
class Tagged:
    """A module ready to compile."""

    image: bytes
    """Bytecode of a copy in which every collective carries its id; the module itself is untouched."""
    collectives: tuple[CollectiveOp, ...]
    foreseen: tuple[Foreseen, ...]
    """What is wrong with it as it is."""
    replicas: int
    """How many replicas it is for."""
    partitions: int
    """How many partitions it is for."""
    shardy: bool
    """Whether Shardy partitions it."""


def tag(module: ir.Module, combine_limit: int = COMBINE_THRESHOLD_DEFAULT) -> Tagged:
    """Numbers the collectives of a copy of `module`, in the order in which they are written.

    combine_limit: bytes of permutes that XLA's combiner joins at most.
    """
    collectives: list[CollectiveOp] = []
    with module.context:
        copy = module.operation.clone()
        mhlo.to_stablehlo(copy.operation)  # XLA's way to GPUs takes no MHLO

        for number, op in enumerate(collectives_in(copy)):
            collectives.append(_describe(op, number))
            frontend_attributes.update(op, {ID_ATTRIBUTE: str(number)})
            if op.name not in KINDS:
                _name(op, f"{ID_ATTRIBUTE}.{number}")
        counts = required_counts(copy)
        set_device_counts(copy, counts)
        foreseen = foresee(copy, capabilities(), combine_limit)
        image = bytecode(copy)
    return Tagged(
        image,
        tuple(collectives),
        tuple(foreseen),
        counts.replicas or 1,
        counts.partitions or 1,
        uses_shardy(module),
    )


def _name(start: ir.Operation, name: str) -> None:
    """Gives a custom call another location, which is all that XLA keeps of one that starts a collective."""
    named = ir.Operation.create(
        start.name,
        results=[result.type for result in start.results],
        operands=list(start.operands),
        attributes={attribute: start.attributes[attribute] for attribute in frontend_attributes.names(start)},
        loc=ir.Location.name(name, start.location, context=start.context),
        ip=ir.InsertionPoint(start),
    )
    for old, new in zip(start.results, named.results, strict=True):
        old.replace_all_uses_with(new)
    start.erase()


def _describe(op: ir.Operation, number: int) -> CollectiveOp:
    seen = Collective.of(op)
    file, line = source_of(op.location)
    return CollectiveOp(
        id=number,
        kind=seen.kind,
        bytes=seen.bytes,
        pairs=seen.pairs,
        stream=seen.stream,
        key=seen.combiner_key or None,
        file=file,
        line=line,
        function=symbol_name(function) if (function := function_of(op)) is not None else "",
    )
