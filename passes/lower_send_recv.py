"""Makes a permute of a send and the recv of the same data, where no other token orders them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis.collectives import pairs_of
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.permutes import grouped_functions
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import has_static_shape
from hloverlap.passes.mlir.walk import blocks_with, definition, has_uses

_TOKEN = "stablehlo.create_token"
_SEND = "stablehlo.send"
_RECV = "stablehlo.recv"
_ENDS = (_SEND, _RECV)

_PAIRS, _CHANNEL = "source_target_pairs", "channel_handle"
_OWN_ATTRIBUTES = {_PAIRS, _CHANNEL, "is_host_transfer"}
_DEVICE_TO_DEVICE = 1

_NO_RECV = Declined("LSR002", "its token goes elsewhere than to the recv of the same data")
_IN_GROUP = Declined("LSR006", "it is part of a group, which is one launch already")


@dataclasses.dataclass(frozen=True)
class _Exchange:
    """A send with a fresh token, whose own token goes to a recv and no further."""

    send: ir.Operation
    recv: ir.Operation


@dataclasses.dataclass(frozen=True)
class LowerSendRecv(Pass):
    """Makes a permute of what `jax.lax.psend` and `jax.lax.precv` write: a send with a token, and a recv after it.

    A send and a recv have an order among the ops with tokens, so nothing can be merged with them; a permute has none.
    Only where a token leads from nowhere but the send to nowhere but the recv, of the same pairs and type, has nobody
    asked for that order. What is left is listed, with the reason. Both give zeros to a device that nothing is sent to:
    on two H200s the results are the same bit for bit. XLA:GPU refuses sends around a ring, so what comes out is mostly
    partial and for `join-partial-permutes`.
    """

    name = "lower-send-recv"
    summary = "Makes permutes of sends and recvs that belong together, so that other passes can merge them."
    example = """\
before: %t = stablehlo.create_token
        %s = "stablehlo.send"(%x, %t) <{… source_target_pairs = dense<[[0, 1], [1, 0]]> …}>
        %y:2 = "stablehlo.recv"(%s) <{… source_target_pairs = dense<[[0, 1], [1, 0]]> …}>
after:  %y = "stablehlo.collective_permute"(%x) <{… source_target_pairs = dense<[[0, 1], [1, 0]]> …}>"""
    statistics: ClassVar[dict[str, str]] = {
        "num-lowered": "sends and recvs that are now a permute",
        "num-declined": "sends, and recvs of no send, that were left as they are",
    }
    remarks: ClassVar[dict[str, str]] = {
        "LSR001": "made a permute of a send and a recv of the same data",
        "LSR002": "kept it: the token of the send goes elsewhere than to the recv of the same data",
        "LSR003": "kept it: the two are not the ends of one transfer of one array between devices",
        "LSR004": "kept it: another op has to be before the send or after the recv",
        "LSR005": "kept it: an op with an order of its own stands between the two",
        "LSR006": "kept it: it is part of a group, which is one launch already",
        "LSR007": "kept it: one of the two carries an attribute of somebody else's",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Lowers the pairs of send and recv that nothing else orders, and says why others are left."""
        symbols = Symbols(op)
        effects = Effects(symbols)
        grouped = grouped_functions(symbols)
        for name, function in symbols.functions.items():
            for block in blocks_with(function, *_ENDS):
                if name in grouped:
                    for end in _ends(block):
                        self._decline(end, _IN_GROUP, context)
                else:
                    self._block(block, effects, context)

    def _block(self, block: ir.Block, effects: Effects, context: Context) -> None:
        found: dict[ir.Value, _Exchange] = {}  # by the token of the send
        for recv in [end for end in _ends(block) if end.name == _RECV]:
            exchange = _exchange(recv)
            if isinstance(exchange, _Exchange):
                found[exchange.send.results[0]] = exchange
            else:
                self._decline(recv, exchange, context)
        for send in [end for end in _ends(block) if end.name == _SEND and end.results[0] not in found]:
            self._decline(send, _NO_RECV, context)
        ordered = [op for view in block.operations if effects.is_ordered(op := view.operation) and op.name != _TOKEN]
        while held := _held_up(ordered, found):
            for key, between in held.items():
                reason = f"{describe(between, found[key].recv)}, which has an order, stands between the two"
                self._decline(found.pop(key).recv, Declined("LSR005", reason), context)
        for exchange in found.values():
            context.remark(
                "LSR001",
                f"Made a permute with {describe(exchange.send, exchange.recv)}: no other token orders it.",
                exchange.recv,
            )
            self.count(context, "num-lowered")
            _lower(exchange)

    def _decline(self, end: ir.Operation, declined: Declined, context: Context) -> None:
        context.remark(declined.code, f"Left as it is, so it is not merged with others: {declined.reason}.", end)
        self.count(context, "num-declined")


def _exchange(recv: ir.Operation) -> _Exchange | Declined:
    """Gives the exchange that a recv ends, or why that is no permute."""
    block = recv.block
    send = _owner(recv.operands[0], block)
    if send is None or send.name != _SEND:
        return Declined("LSR003", "its token does not come from the send of the same data")
    token = _owner(send.operands[len(send.operands) - 1], block)
    if token is None or token.name != _TOKEN:
        return Declined("LSR004", "the token of its send comes from another op, which has to be first")
    if has_uses(recv.results[len(recv.results) - 1]) or len(list(send.results[0].uses)) > 1:
        return Declined("LSR004", "another op takes a token of the two, and has to be after them")
    if len(send.operands) != 2 or len(recv.results) != 2 or not has_static_shape(recv.results[0].type):
        return Declined("LSR003", "it is not about one array of known size")
    if send.operands[0].type != recv.results[0].type:
        return Declined("LSR003", "what is sent and what is received differ in type")
    for end in (send, recv):
        if others := [name for name in frontend_attributes.names(end) if name not in _OWN_ATTRIBUTES]:
            return Declined("LSR007", f"one of the two carries the attribute {others[0]}")
        if _PAIRS not in end.attributes or not _is_between_devices(end):
            return Declined("LSR003", "one of the two is a transfer from or to the host")
    if sorted(pairs_of(send)) != sorted(pairs_of(recv)) or send.attributes[_CHANNEL] != recv.attributes[_CHANNEL]:
        return Declined("LSR003", "the pairs or the channels of send and recv differ")
    return _Exchange(send, recv)


def _held_up(ordered: Sequence[ir.Operation], found: Mapping[ir.Value, _Exchange]) -> dict[ir.Value, ir.Operation]:
    """Finds the exchanges, by key, between whose ends another op with an order stands; gives that op for each.

    It is an op that belongs to none of `found`.
    """
    ends = {end.results[0]: key for key, exchange in found.items() for end in (exchange.send, exchange.recv)}
    opened: dict[ir.Value, int] = {}
    held: dict[ir.Value, ir.Operation] = {}
    last = -1  # position of the latest such op
    for position, op in enumerate(ordered):
        key = ends.get(op.results[0]) if len(op.results) else None
        if key is None:
            last = position
        elif opened.setdefault(key, last) != last:
            held[key] = ordered[last]
    return held


def _is_between_devices(end: ir.Operation) -> bool:
    attributes = end.attributes
    is_host = "is_host_transfer" in attributes and bool(ir.BoolAttr(attributes["is_host_transfer"]).value)
    return not is_host and stablehlo.ChannelHandle(attributes[_CHANNEL]).channel_type == _DEVICE_TO_DEVICE


def _owner(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    """Gives the op of the block that gives a value; None for an argument, and for a value from outside."""
    op = definition(value)
    return op if op is not None and op.block == block else None


def _ends(block: ir.Block) -> list[ir.Operation]:
    return [view.operation for view in block.operations if view.operation.name in _ENDS]


def _lower(exchange: _Exchange) -> None:
    send, recv = exchange.send, exchange.recv
    token = send.operands[1].owner.operation
    location = ir.Location.fused([send.location, recv.location], context=recv.context)
    with location, ir.InsertionPoint(recv):
        permute = stablehlo.CollectivePermuteOp(
            send.operands[0], recv.attributes[_PAIRS], channel_handle=recv.attributes[_CHANNEL]
        ).operation
    recv.results[0].replace_all_uses_with(permute.results[0])
    recv.erase()
    send.erase()
    if not has_uses(token.results[0]):
        token.erase()
