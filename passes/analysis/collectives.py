"""Reads what one collective op is: kind, pairs, bytes, mode, and the attributes XLA reads from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis import async_pairs
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.symbols import CALL, Symbols
from hloverlap.passes.mlir.types import bytes_of, element_of
from hloverlap.passes.mlir.walk import ops_in

PERMUTE = "stablehlo.collective_permute"
KINDS = frozenset(
    {
        PERMUTE,
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.collective_broadcast",
        "stablehlo.reduce_scatter",
    }
)


@dataclasses.dataclass(frozen=True, eq=False)
class Collective:
    """Holds the facts of a collective, or of the start of one that another op ends.

    It is equal only to itself, so that it can stand for its op in a table.

    The op itself cannot: its hash is one of its contents, and changes when the op does. Nor can it once it is erased.
    """

    op: ir.Operation
    kind: str
    """The op's name without its dialect."""
    pairs: tuple[Pair, ...]
    """The source-target pairs of a permute, in the op's own order; () for any other collective."""
    bytes: int
    """What one partition puts in."""
    mode: str
    """``partition`` when the ids are partition ids (a channel is given), else ``replica``."""
    stream: str | None
    """The text of the stream annotation, or None."""
    domain: str | None
    """The text of the communication domain, or None."""
    combiner_key: str
    """The text of the combiner key; "" where there is none."""

    @classmethod
    def of(cls, op: ir.Operation) -> Collective:
        """Reads a collective; the op must be one by `is_collective`."""
        started = async_pairs.started_kind(op)
        held = {} if started else frontend_attributes.read(op)  # XLA drops those of a start
        return cls(
            op=op,
            kind=started or op.name.removeprefix("stablehlo."),
            pairs=pairs_of(op) if op.name == PERMUTE else async_pairs.pairs(op) if started else (),
            bytes=sum(bytes_of(operand.type) for operand in op.operands),
            mode=mode_of(op),
            stream=held.get(frontend_attributes.STREAM),
            domain=held.get(frontend_attributes.DOMAIN),
            combiner_key=held.get(frontend_attributes.COMBINER_KEY, ""),
        )

    @property
    def canonical_pairs(self) -> tuple[Pair, ...]:
        """Gives the pairs in ascending order: two permutes that move the same data the same way agree here."""
        return tuple(sorted(self.pairs))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Gives the element type of each operand, as MLIR prints it."""
        return tuple(str(element_of(operand.type)) for operand in self.op.operands)


def is_collective(op: ir.Operation) -> bool:
    """Says whether an op is a collective, or starts one that another op ends."""
    return op.name in KINDS or async_pairs.started_kind(op) is not None


def collectives_in(root: ir.Operation) -> list[ir.Operation]:
    """Lists the collectives in `root`, also those that are a start and a done, in the order of `ops_in`."""
    return [op for op in ops_in(root, *KINDS, async_pairs.CUSTOM_CALL) if is_collective(op)]


def functions_with_collectives(symbols: Symbols) -> frozenset[str]:
    """Names the functions in which a collective stands, or that lead to such a function by calls."""
    return symbols.leading_to(name for name, function in symbols.functions.items() if collectives_in(function))


def pairs_of(op: ir.Operation) -> tuple[Pair, ...]:
    """Reads the source_target_pairs of a permute, in its own order."""
    attribute: Any = op.attributes["source_target_pairs"]
    rows: Any = memoryview(attribute).tolist()  # to iterate over the attribute takes seven times as long
    return cast("tuple[Pair, ...]", tuple(map(tuple, rows)))


def set_pairs(op: ir.Operation, pairs: Sequence[Pair]) -> None:
    """Gives a permute these pairs, in this order."""
    values = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    op.attributes["source_target_pairs"] = ir.DenseIntElementsAttr.get(values, context=op.context)


def mode_of(op: ir.Operation) -> str:
    """Gives ``partition`` or ``replica``: XLA takes the ids for partition ids when the channel is above 0.

    Where ``use_global_device_ids`` is set, a channel means flattened ids; they count as partition ids here.
    """
    if op.name == async_pairs.CUSTOM_CALL:
        return "partition" if async_pairs.has_channel(op) else "replica"
    attributes = op.attributes
    if "channel_handle" in attributes and stablehlo.ChannelHandle(attributes["channel_handle"]).handle > 0:
        return "partition"
    return "replica"


def is_group_call(op: ir.Operation) -> bool:
    """Says whether an op is a call that XLA runs as one group of collectives."""
    return op.name == CALL and frontend_attributes.GROUP in frontend_attributes.read(op)
