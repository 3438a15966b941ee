"""Makes two permutes of one that goes both inside the hosts and between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.device_ids import DeviceIds
from hloverlap.passes.analysis.permutes import segments_with_permutes
from hloverlap.passes.base import Pass, option
from hloverlap.passes.building import device_select
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.errors import PassError
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir.symbols import Symbols


@dataclasses.dataclass(frozen=True)
class SplitPermutesByHost(Pass):
    """Lets each half take its own route: device to device inside a host, merged with others between hosts.

    Both halves send the same value; a device takes the result of the half that it is a target of. It costs a select and
    a launch, so it is worth while only for large data, and only if something is made of the halves.
    """

    name = "split-permutes-by-host"
    summary = "Makes two permutes of one that goes both inside the hosts and between them."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 2], [2, 3], [3, 0]] …}>     // 2 hosts of 2
after:  %b = "stablehlo.collective_permute"(%x) <{… [[0, 1], [2, 3]] …}>
        %c = "stablehlo.collective_permute"(%x) <{… [[1, 2], [3, 0]] …}>
        %a = stablehlo.select %to_0_or_2, %c, %b"""
    statistics: ClassVar[dict[str, str]] = {
        "num-split": "permutes that are now two",
        "num-declined": "permutes with both kinds of pairs that were left as they are",
    }
    remarks: ClassVar[dict[str, str]] = {
        "SPH000": "split nothing: without a topology no permute is known to cross hosts",
        "SPH001": "split it into the pairs inside hosts and those between them",
        "SPH002": "not split: a device sends fewer bytes than min-bytes",
        "SPH003": "not split: it carries an attribute of somebody else's",
        "SPH004": "not split: no select of its type is known to keep every bit",
        "SPH005": "not split: a device cannot tell here which id it has",
    }

    min_bytes: int = option(0, "fewest bytes that a device sends in a permute worth splitting")

    def run(self, op: ir.Operation, context: Context) -> None:
        """Splits each permute of the module that goes both ways and is large enough."""
        if self.min_bytes < 0:
            raise PassError(f"min-bytes={self.min_bytes} is no size; give at least 0")
        symbols = Symbols(op)
        ids = DeviceIds(op, symbols)
        for segment in segments_with_permutes(symbols, at_least=1):
            for permute in [each for each in segment.ops if each.name == PERMUTE]:
                if context.topology is None:
                    context.remark(
                        "SPH000",
                        f"No permute was split: without a topology no permute is known to cross {context.joined}; give "
                        "one, such as 2x4.",
                    )
                    return
                self._permute(Collective.of(permute), ids, context)

    def _permute(self, fact: Collective, ids: DeviceIds, context: Context) -> None:
        crossing = [pair for pair in fact.canonical_pairs if context.leaves(pair)]
        staying = [pair for pair in fact.canonical_pairs if not context.leaves(pair)]
        if not crossing or all(source == target for source, target in staying):
            return  # what a device sends to itself is no message
        if declined := self._objection(fact, ids):
            context.remark(declined.code, f"Not split by host: {declined.reason}.", fact.op)
            self.count(context, "num-declined")
            return
        context.remark(
            "SPH001",
            f"Split: {_counted(staying)} inside the {context.joined} and {_counted(crossing)} between them, "
            f"{fact.bytes} bytes a device.",
            fact.op,
        )
        self.count(context, "num-split")
        count = ids.count(fact.mode)
        assert count is not None, "split without knowing the devices"
        _split(fact, staying, crossing, count)

    def _objection(self, fact: Collective, ids: DeviceIds) -> Declined | None:
        value_type = fact.op.operands[0].type
        if carried := stream_annotations.carried(fact.op):
            return Declined("SPH003", f"it carries the attribute {carried[0][0]}")
        if not device_select.can_select(value_type):
            return Declined("SPH004", f"no select of a {value_type} is known to keep every bit")
        if fact.bytes < self.min_bytes:
            return Declined("SPH002", f"a device sends {fact.bytes} bytes, fewer than min-bytes={self.min_bytes}")
        if objection := ids.objection(fact.op, fact.mode, fact.pairs):
            return Declined("SPH005", objection)
        return None


def _split(fact: Collective, staying: Sequence[Pair], crossing: Sequence[Pair], count: int) -> None:
    channel = fact.op.attributes.get("channel_handle", None)
    operand = fact.op.operands[0]
    with fact.op.location, ir.InsertionPoint(fact.op):
        inside, between = (
            stablehlo.CollectivePermuteOp(operand, np.array(pairs, dtype=np.int64), channel_handle=channel).operation
            for pairs in (staying, crossing)
        )
        is_crossing = device_select.is_one_of([target for _, target in crossing], fact.mode, count)
        # A device that is no target of either gets the zeros of the one inside.
        value = device_select.select(is_crossing, between.results[0], inside.results[0])
    fact.op.results[0].replace_all_uses_with(value)
    fact.op.erase()


def _counted(pairs: Sequence[Pair]) -> str:
    return f"{len(pairs)} pair" + "s" * (len(pairs) > 1)
