"""What one collective op is: kind, pairs, bytes, mode, and the attributes XLA reads from it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

from jaxlib.mlir import ir

from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.symbols import CALL

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
    """A collective op as facts. Equal only to itself, so that it can stand for its op in a table.

    (An op cannot: its hash is one of its contents, and changes when the op does. Nor can it once it is erased.)

    kind: the op's name without its dialect. pairs: of a permute, in the op's own order, else (). bytes: what one
    partition puts in. mode: ``partition`` when the ids are partition ids (a channel is given), else ``replica``.
    stream: the text of a stream annotation, or None.
    """

    op: ir.Operation
    kind: str
    pairs: tuple[Pair, ...]
    bytes: int
    mode: str
    stream: str | None

    @classmethod
    def of(cls, op: ir.Operation) -> Collective:
        """Reads a collective op; its name must be one of KINDS."""
        return cls(
            op=op,
            kind=op.name.removeprefix("stablehlo."),
            pairs=pairs_of(op) if op.name == PERMUTE else (),
            bytes=sum(bytes_of(operand.type) for operand in op.operands),
            mode=mode_of(op),
            stream=frontend_attributes.read(op).get(frontend_attributes.STREAM),
        )

    @property
    def canonical_pairs(self) -> tuple[Pair, ...]:
        """The pairs in ascending order: two permutes that move the same data the same way agree here."""
        return tuple(sorted(self.pairs))

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element type of each operand, as MLIR prints it."""
        return tuple(str(element_of(operand.type)) for operand in self.op.operands)


def pairs_of(op: ir.Operation) -> tuple[Pair, ...]:
    """source_target_pairs of a permute, in its own order."""
    attribute: Any = op.attributes["source_target_pairs"]
    rows: Any = memoryview(attribute).tolist()  # to iterate over the attribute takes seven times as long
    return cast("tuple[Pair, ...]", tuple(map(tuple, rows)))


def mode_of(op: ir.Operation) -> str:
    """``partition`` or ``replica``: XLA takes the ids for partition ids when the channel is above 0.

    Where ``use_global_device_ids`` is set, a channel means flattened ids; they count as partition ids here.
    """
    attributes = op.attributes
    if "channel_handle" in attributes:
        from jaxlib.mlir.dialects import stablehlo

        if stablehlo.ChannelHandle(attributes["channel_handle"]).handle > 0:
            return "partition"
    return "replica"


def is_group_call(op: ir.Operation) -> bool:
    """Whether an op is a call that XLA runs as one group of collectives."""
    return op.name == CALL and frontend_attributes.GROUP in frontend_attributes.read(op)


def element_of(shaped: ir.Type) -> ir.Type:
    """Element type of a tensor; any other type is its own."""
    return shaped.element_type if isinstance(shaped, ir.ShapedType | ir.RankedTensorType) else shaped


def bits_of(element: ir.Type) -> int:
    """Bits of one element as XLA stores it; 0 for what holds no data, such as a token."""
    if isinstance(element, ir.ComplexType):
        return 2 * bits_of(element.element_type)
    if isinstance(element, ir.IntegerType):
        return 8 if element.width == 1 else element.width
    if isinstance(element, ir.FloatType):
        return int(element.width)
    return 0


def has_static_shape(value_type: ir.Type) -> bool:
    """Whether the size is known when compiling."""
    return isinstance(value_type, ir.RankedTensorType) and value_type.has_static_shape


def bytes_of(value_type: ir.Type) -> int:
    """Bytes of a tensor, rounded up; 0 where the shape is dynamic or the type holds no data."""
    if not has_static_shape(value_type):
        return 0
    shaped = ir.RankedTensorType(value_type)
    return (math.prod(shaped.shape) * bits_of(shaped.element_type) + 7) // 8
