"""Tells this project's own stream annotations from the user's.

Each of ours has a combiner key beside it. XLA's combiner joins no permutes whose keys differ, without which two
annotated permutes with equal pairs abort XLA 0.10.2 and become synchronous in 0.12; and the key's prefix says whose it
is.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.xla_streams import stream_of
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.frontend_attributes import COMBINER_KEY, STREAM
from hloverlap.passes.mlir.walk import ops_in

_PREFIX = "hloverlap."


def is_own(op: ir.Operation) -> bool:
    """Says whether an op carries an annotation that this project put there."""
    held = frontend_attributes.read(op)
    return STREAM in held and held.get(COMBINER_KEY, "").startswith(_PREFIX)


def annotate(op: ir.Operation, stream: int, number: int) -> bool:
    """Puts an op on a stream, and says whether that changed the op. No two annotated ops may have the same `number`."""
    return frontend_attributes.update(op, {STREAM: str(stream), COMBINER_KEY: f"{_PREFIX}{number}"})


def strip(op: ir.Operation) -> None:
    """Takes our annotation out of an op; all else the op carries stays."""
    frontend_attributes.update(op, {STREAM: None, COMBINER_KEY: None})


def strip_own(op: ir.Operation) -> None:
    """Takes the annotation out of an op where it is ours; the user's own stays."""
    if is_own(op):
        strip(op)


def others(op: ir.Operation) -> dict[str, str]:
    """Gives the frontend attributes of an op without an annotation of ours."""
    held = frontend_attributes.read(op)
    return {name: value for name, value in held.items() if name not in (STREAM, COMBINER_KEY)} if is_own(op) else held


def carried(op: ir.Operation) -> tuple[tuple[str, str], ...]:
    """Lists all that a permute carries besides its pairs, its channel and an annotation of ours, as (name, text)."""
    special = ("source_target_pairs", "channel_handle", frontend_attributes.KEY)
    return (*frontend_attributes.as_text(op, special), *others(op).items())


def taken(module: ir.Operation) -> frozenset[int]:
    """Lists every stream that an annotation of somebody else's names, on whatever op.

    On calls, as ``compute_on`` writes them, they are streams for compute, and nothing of ours goes where the user put
    something.
    """
    named = (frontend_attributes.read(op).get(STREAM) for op in ops_in(module) if not is_own(op))
    return frozenset(stream for text in named if text is not None and (stream := stream_of(text)) is not None)


def own_ops(module: ir.Operation) -> list[ir.Operation]:
    """Lists every op with an annotation of ours, in module order."""
    return [op for op in ops_in(module) if is_own(op)]
