"""Which op a failed compile is about, and which annotations will make one fail."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD_DEFAULT
from hloverlap.pipeline.audit.launches import ID_ATTRIBUTE
from hloverlap.pipeline.audit.op_ids import CollectiveOp
from hloverlap.pipeline.xla.isolated_compile import Failure

_ID = re.compile(rf'{ID_ATTRIBUTE}="(\d+)')


@dataclasses.dataclass(frozen=True)
class Doomed:
    """Annotated collectives that XLA cannot place. ids: the ops; why: a clause."""

    ids: tuple[int, ...]
    why: str


def doomed(collectives: Sequence[CollectiveOp]) -> list[Doomed]:
    """Annotations that abort XLA or that its combiner will join, in program order."""
    found = []
    for op in collectives:
        if op.stream is not None and not re.fullmatch(r"\d+", op.stream) and op.stream != "collective":
            outcome = "becomes an absurd stream number" if op.stream == "-1" else "aborts XLA"
            found.append(Doomed((op.id,), f"stream annotation '{op.stream}' is no number and {outcome}"))
    return found + _joined(collectives)


def blamed(failure: Failure, collectives: Sequence[CollectiveOp]) -> tuple[int, ...]:
    """Ids of the ops that a failure is about; () when nothing tells."""
    if named := _ID.search(failure.message):
        return (int(named[1]),)
    if failure.kind == "aborted" and "stream" in failure.message:
        return tuple(id for each in doomed(collectives) for id in each.ids)
    if failure.kind == "refused" and "ExecutionStreamId" in failure.message:
        return _by_place(failure.message, collectives)
    return ()


def _joined(collectives: Sequence[CollectiveOp]) -> list[Doomed]:
    """Annotated permutes of one function with equal pairs in equal order and no keys that keep them apart."""
    alike: dict[tuple[object, ...], list[CollectiveOp]] = {}
    for op in collectives:
        if op.kind == "collective_permute" and op.pairs:
            alike.setdefault((op.function, op.pairs, op.key), []).append(op)
    found = []
    for ops in alike.values():
        streams = sorted({op.stream for op in ops if op.stream is not None})
        if len(ops) > 1 and streams and sum(op.bytes for op in ops) <= COMBINE_THRESHOLD_DEFAULT:
            named = ",".join(op.stream for op in ops if op.stream is not None)
            found.append(
                Doomed(
                    tuple(op.id for op in ops),
                    f"XLA's combiner joins permutes of equal pairs; their annotations ('{named}') name no one stream",
                )
            )
    return found


def _by_place(message: str, collectives: Sequence[CollectiveOp]) -> tuple[int, ...]:
    """The op whose source line or pairs the message names."""
    line = re.search(r"source_line=(\d+)", message)
    if line and (found := [op.id for op in collectives if op.line == int(line[1])]):
        return tuple(found)
    pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", message)
    if pairs:
        numbers = [int(text) for text in re.findall(r"\d+", pairs[1])]
        wanted = tuple(zip(numbers[::2], numbers[1::2], strict=False))
        return tuple(op.id for op in collectives if op.pairs == wanted)
    return ()
