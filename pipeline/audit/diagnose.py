"""Finds the op that a failed compile is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hloverlap.pipeline.audit.foresight import ABORTS, Foreseen
from hloverlap.pipeline.audit.launches import ID_ATTRIBUTE
from hloverlap.pipeline.audit.op_ids import CollectiveOp
from hloverlap.pipeline.xla.isolated_compile import Failure

_ID = re.compile(rf'{ID_ATTRIBUTE}="(\d+)')


def ops_at_fault(
    failure: Failure, collectives: Sequence[CollectiveOp], foreseen: Sequence[Foreseen]
) -> tuple[int, ...]:
    """Gives the ids of the ops that a failure is about; () when nothing tells."""
    if named := _ID.search(failure.message):
        return (int(named[1]),)
    if failure.kind == "aborted" and "stream" in failure.message:
        return tuple(dict.fromkeys(id for each in foreseen if each.code in ABORTS for id in each.ids))
    if failure.kind == "refused" and "ExecutionStreamId" in failure.message:
        return _by_place(failure.message, collectives)
    return ()


def _by_place(message: str, collectives: Sequence[CollectiveOp]) -> tuple[int, ...]:
    """Gives the ids of the ops whose source line or pairs the message names."""
    line = re.search(r"source_line=(\d+)", message)
    if line and (found := [op.id for op in collectives if op.line == int(line[1])]):
        return tuple(found)
    pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", message)
    if pairs:
        numbers = [int(text) for text in re.findall(r"\d+", pairs[1])]
        wanted = tuple(zip(numbers[::2], numbers[1::2], strict=False))
        return tuple(op.id for op in collectives if op.pairs == wanted)
    return ()
