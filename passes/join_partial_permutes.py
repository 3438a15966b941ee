"""Makes one permute of several whose sources and targets are different devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.cost import CostModel, UnknownCostError
from hloverlap.passes.analysis.device_ids import DeviceIds
from hloverlap.passes.analysis.permutes import are_disjoint, segments_with_permutes
from hloverlap.passes.analysis.segments import Segment, reorder
from hloverlap.passes.base import Pass
from hloverlap.passes.building import device_select
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.merging.strategy import WORTH, doubt
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import has_uses

# What a select moves, in bytes read and written once each, for a byte of its result. Only those before the permute
# count: XLA fuses those after it with what uses them. Two permutes of two H200s in one host, with an add each, took
# 49 us apart and 32 joined at 1 KiB, 70 and 41 at 4 MiB, 516 and 390 at 64 MiB.
_SELECT = 1.5

_Permutes: TypeAlias = list[Collective]


@dataclasses.dataclass(frozen=True)
class JoinPartialPermutes(Pass):
    """Joins permutes of which each device is a source or a target at most once.

    Each device sends what the permute would send in which it is a source; the result of each permute is the joined
    one's on its targets, and zeros elsewhere. Only what is ready at the same time is joined, and only where the
    transfers that are saved are estimated to take longer than the selects before it.
    """

    name = "join-partial-permutes"
    summary = "Makes one permute of several that have different sources and different targets."
    example = """\
before: %a = "stablehlo.collective_permute"(%x) <{… [[0, 1]] …}>
        %b = "stablehlo.collective_permute"(%y) <{… [[1, 0]] …}>
after:  %c = stablehlo.select %from_1, %y, %x
        %d = "stablehlo.collective_permute"(%c) <{… [[0, 1], [1, 0]] …}>
        %a = stablehlo.select %to_1, %d, %zeros
        %b = stablehlo.select %to_0, %d, %zeros"""
    statistics: ClassVar[dict[str, str]] = {
        "num-made": "permutes made of several",
        "num-joined": "permutes that are now part of another one",
        "num-declined": "partial permutes that were left as they are",
    }
    remarks: ClassVar[dict[str, str]] = {
        "JPP001": "joined it with others, between other devices, into one permute",
        "JPP002": "not joined: none that is ready with it has its type and other sources and targets",
        "JPP003": "not joined: it carries an attribute of somebody else's",
        "JPP004": "not joined: no select of its type is known to keep every bit",
        "JPP005": "not joined: a device cannot tell here which id it has",
        "JPP006": "not joined: the estimate says that it would take longer, or gain too little to be sure",
        "JPP007": "not joined: what it would take is not known of the target, or no target was given",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Joins what it can in each segment of the module."""
        symbols = Symbols(op)
        joiner = _Joiner(self, context, DeviceIds(op, symbols))
        for segment in segments_with_permutes(symbols, at_least=2):
            joiner.segment(segment)


class _Joiner:
    def __init__(self, options: JoinPartialPermutes, context: Context, ids: DeviceIds) -> None:
        self._options = options
        self._context = context
        self._costs = CostModel(context.target, context.topology)
        self._ids = ids
        self._made: set[ir.Value] = set()

    def segment(self, segment: Segment) -> None:
        """Joins until nothing more can be: what is made of some may fit others."""
        while True:
            facts = {Collective.of(op): number for number, op in enumerate(segment.ops) if op.name == PERMUTE}
            declined: dict[Collective, Declined] = {}
            sets = self._sets(facts, segment.heavy_levels(), declined)
            joined = [part for part in sets if len(part) > 1]
            if not joined:
                break
            reorder(segment, [[facts[fact] for fact in part] for part in joined])
            for part in joined:
                self._join(part)
            segment = segment.again()
        for (fact,) in sets:
            declined[fact] = self._reason(fact, [other for (other,) in sets])
        for fact, why in declined.items():
            if fact.op.results[0] not in self._made:
                self._context.remark(why.code, f"Not joined with another one: {why.reason}.", fact.op)
                self._options.count(self._context, "num-declined")

    def _sets(
        self, facts: Mapping[Collective, int], levels: Sequence[int], declined: dict[Collective, Declined]
    ) -> list[_Permutes]:
        """Collects all that can be joined at all, each in the first set that it fits.

        Those of one level are independent, for a level counts permutes too; and making one of some of one level leaves
        all levels as they are, so it never makes a cycle.
        """
        sets: dict[Hashable, list[_Permutes]] = {}
        for fact, number in facts.items():
            if not self._is_partial(fact):
                continue
            if why := self._objection(fact):
                declined[fact] = why
                continue
            alike = sets.setdefault((fact.op.operands[0].type, fact.mode, levels[number]), [])
            fitting = (part for part in alike if _fits(fact, part) and self._pays(fact, part))
            if (part := next(fitting, None)) is not None:
                part.append(fact)
            else:
                alike.append([fact])
        return [part for alike in sets.values() for part in alike]

    def _is_partial(self, fact: Collective) -> bool:
        """Says whether a permute leaves room for another, and anybody uses its result."""
        count = self._ids.count(fact.mode)
        return bool(fact.pairs) and has_uses(fact.op.results[0]) and (count is None or len(fact.pairs) < count)

    def _objection(self, fact: Collective) -> Declined | None:
        value_type = fact.op.operands[0].type
        if carried := stream_annotations.carried(fact.op):
            return Declined("JPP003", f"it carries the attribute {carried[0][0]}")
        if not device_select.can_select(value_type) or not device_select.can_be_zero(value_type):
            return Declined("JPP004", f"no select of a {value_type} is known to keep every bit")
        if objection := self._ids.objection(fact.op, fact.mode, fact.pairs):
            return Declined("JPP005", objection)
        return None

    def _reason(self, fact: Collective, others: Sequence[Collective]) -> Declined:
        for other in others:
            if other is not fact and fact.op.operands[0].type == other.op.operands[0].type and _fits(fact, [other]):
                if fact.mode != other.mode:
                    continue
                try:
                    joined, separate = self._estimate([fact, other]), self._costs.separate([fact, other])
                except UnknownCostError as error:
                    return Declined("JPP007", str(error))
                name = self._costs.name
                if joined > WORTH * separate:
                    beside = describe(other.op, fact.op)
                    text = f"with {beside} it would take about {joined:.0f} us on {name}, apart {separate:.0f}"
                    return Declined("JPP006", f"{text} us{doubt(joined, separate)}")
        return Declined("JPP002", "none of its type that is ready at the same time has other sources and other targets")

    def _pays(self, fact: Collective, part: _Permutes) -> bool:
        """Says whether joining one more is estimated to pay; it does not where the costs are not known."""
        try:
            return self._estimate([*part, fact]) <= WORTH * (self._estimate(part) + self._costs.separate([fact]))
        except UnknownCostError:
            return False

    def _estimate(self, part: _Permutes) -> float:
        """Estimates the microseconds of one permute of all, and of choosing what each device sends."""
        joined = dataclasses.replace(part[0], pairs=tuple(pair for fact in part for pair in fact.pairs))
        selects = len({fact.op.operands[0] for fact in part}) - 1
        chosen = self._costs.copies(selects * _SELECT * part[0].bytes) if selects else 0.0
        return self._costs.one_launch([joined]) + chosen

    def _join(self, part: _Permutes) -> None:
        """Puts one permute where the last of the part stood. They stand side by side."""
        joined, separate = self._estimate(part), self._costs.separate(part)
        others = f"{len(part) - 1} other" + "s" * (len(part) > 2)
        gain = f"about {joined:.0f} us on {self._costs.name} instead of {separate:.0f} us"
        for fact in part:
            self._context.remark("JPP001", f"Joined with {others} into one permute, {gain}.", fact.op)
        mode, count = part[0].mode, self._ids.count(part[0].mode)
        assert count is not None, "joined without knowing the devices"
        sources: dict[ir.Value, list[int]] = {}
        for fact in part:
            sources.setdefault(fact.op.operands[0], []).extend(source for source, _ in fact.pairs)
        last = part[-1].op
        location = ir.Location.fused([fact.op.location for fact in part], context=last.context)
        with location, ir.InsertionPoint(last):
            (sent, _), *more = sources.items()
            for operand, ids in more:
                sent = device_select.select(device_select.is_one_of(ids, mode, count), operand, sent)
            permute = stablehlo.CollectivePermuteOp(
                sent,
                np.array(sorted(pair for fact in part for pair in fact.pairs), dtype=np.int64),
                channel_handle=part[0].op.attributes.get("channel_handle", None),
            ).operation
            for fact in part:
                targets = [target for _, target in fact.pairs]
                condition = device_select.is_one_of(targets, mode, count)
                value = device_select.select_or_zeros(condition, permute.results[0])
                fact.op.results[0].replace_all_uses_with(value)
        for fact in part:
            fact.op.erase()
        self._made.add(permute.results[0])
        self._options.count(self._context, "num-made")
        self._options.count(self._context, "num-joined", len(part))


def _fits(fact: Collective, part: _Permutes) -> bool:
    return all(are_disjoint(fact.pairs, held.pairs) for held in part)
