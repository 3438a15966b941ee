"""Gives collectives that can be in flight together different streams."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from jaxlib.mlir import ir

from hloverlap.passes.analysis import overlap_limit, shardy_transfers, stream_annotations
from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, is_group_call
from hloverlap.passes.analysis.concurrency import Lanes, Unit, place
from hloverlap.passes.analysis.dataflow import Instance
from hloverlap.passes.analysis.hidden_transfers import describe_hidden
from hloverlap.passes.analysis.mesh_axes import MeshAxes
from hloverlap.passes.base import Pass, option
from hloverlap.passes.building.specialization import specialize
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.errors import PassError
from hloverlap.passes.machine.xla_options import OVERLAP_LIMIT, PEER_MEMORY, PERMUTE_MODE, CompileOption
from hloverlap.passes.mlir.locations import describe
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.streams.payoff import Payoff

# Smaller permutes stay joined rather than go apart: a launch costs about 5 us, which is 256 KiB at 50 GB/s.
_SPLIT_BYTES = 256 * 1024

HIDDEN = "ACS014"
_WAY = (
    "XLA dumps the module that has them with --xla_dump_hlo_pass_re=spmd-partitioning, as "
    "*after_spmd-partitioning*, for hlo-opt and hlo-audit; on GPUs hlo-run --partitioner-permutes places its permutes."
)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """Says on which stream one execution path puts an op."""

    stream: int
    path: int
    """0, or a number that no other path has, where none may share the function with this one."""


@dataclasses.dataclass(frozen=True)
class AssignCollectiveStreams(Pass):
    """Takes collectives off communication stream 0, on which XLA puts every one that carries no stream annotation.

    Chains of dependent collectives share a stream. What can overlap nothing stays as it is. Permutes with equal
    pairs, which XLA joins into one by itself, are left to it where that is possible.
    """

    name = "assign-collective-streams"
    summary = "Puts collectives that can be in flight together on different streams."
    example = """\
before: %f = "stablehlo.collective_permute"(%x) <{… [[0, 1], [1, 2], [2, 3], [3, 0]] …}>
        %b = "stablehlo.collective_permute"(%y) <{… [[0, 3], [1, 0], [2, 1], [3, 2]] …}>
after:  %f = … {mhlo.frontend_attributes = {_xla_stream_annotation = "4", combiner_key = "hloverlap.0"}}
        %b = … {mhlo.frontend_attributes = {_xla_stream_annotation = "5", combiner_key = "hloverlap.1"}}"""
    statistics: ClassVar[dict[str, str]] = {
        "num-annotated": "ops put on a stream of their own",
        "num-streams": "streams used",
        "num-left-to-combiner": "permutes that XLA joins by itself",
        "num-alone": "collectives that nothing can overlap",
        "num-specialized": "functions copied because their calls need different streams",
    }
    remarks: ClassVar[dict[str, str]] = {
        "ACS001": "put it on a stream of its own",
        "ACS002": "left it as it is: there is nothing that it could be in flight with",
        "ACS003": "left it to XLA, which joins it with others of the same pairs",
        "ACS004": "kept the user's stream annotation or communication domain",
        "ACS005": "left it as it is: a group takes no annotation",
        "ACS007": "left it as it is: too many paths lead to its function",
        "ACS008": "left it as it is: it is too small for a stream to pay on the target",
        "ACS009": "asked for copies from device to device",
        "ACS010": "left it on XLA's stream: what it could be in flight with uses the same links",
        "ACS011": "left it as it is: whether a stream pays on the target is not known",
        "ACS012": "left it as it is: the overlap limit that it takes would cost others more",
        "ACS013": "left it as it is: XLA keeps a collective that is a start and a done on its stream",
        "ACS014": "there may be transfers that only XLA's partitioner will make",
        "ACS015": "transfers in Shardy's form, which no pass sees",
        "ACS016": "asked for no copies from device to device: they take a topology that says the processes",
        "ACS017": "left it as it is: no matmul can run beside it, without which a stream does not pay",
    }

    max_streams: int = option(4, "most streams to use at once")
    first_stream: int = option(0, "lowest number of a stream; those of XLA's own and of the module's are passed over")
    collectives: Literal["permute", "all"] = option("permute", "which collectives to place")

    def run(self, op: ir.Operation, context: Context) -> None:
        """Annotates what gains by a stream of its own, and says of every collective why or why not."""
        if self.max_streams < 1:
            raise PassError(f"max-streams={self.max_streams} leaves no stream to use; give at least 1")
        if self.first_stream < 0:
            raise PassError(f"first-stream={self.first_stream} is no stream; give at least 0")
        symbols = Symbols(op)
        own, taken = stream_annotations.own_ops(op), stream_annotations.taken(op)
        kinds = KINDS if self.collectives == "all" else frozenset({PERMUTE})
        lanes = place(symbols, self.max_streams, own, kinds, context.capabilities)
        joined = _left_to_combiner(lanes)
        sizes = _sizes(lanes, MeshAxes(op, symbols))
        payoff = Payoff(sizes, symbols, context)
        unpaid = payoff.declined()
        first = max(self.first_stream, context.capabilities.first_stream)
        free = (stream for stream in itertools.count(first) if stream not in taken)
        streams = _streams(lanes, joined | unpaid.keys(), free)
        in_company = [unit for unit in lanes.units if unit in streams or (_wants_company(unit) and unit not in unpaid)]
        objection = _objection(symbols, in_company)
        if objection:
            streams = {}
        choices: dict[Instance, dict[ir.Operation, _Choice | None]] = {}
        paths = 0
        for unit in lanes.units:
            # XLA would join independent executions of one op, so these must not share a function and thereby a key.
            alone = unit.queued_behind is not None or len(unit.members) > 1
            for member in unit.members:
                choice = None
                if unit in streams and member.instance.function not in lanes.unfollowed:
                    paths += 1
                    choice = _Choice(streams[unit], paths if alone else 0)
                choices.setdefault(member.instance, {})[member.op] = choice
        before = len(symbols.functions)
        chosen = specialize(symbols, lanes.roots, choices)
        self._annotate(context, chosen, stream_annotations.own_ops(op))  # again: copied functions have more
        self.count(context, "num-specialized", len(Symbols(op).functions) - before)
        self.count(context, "num-streams", len(set(streams.values())))
        if shardy := shardy_transfers.find(op):
            context.remark("ACS015", shardy.text, shardy.first)
        self._explain(context, lanes, joined, unpaid, streams, objection if in_company else "")
        if in_company and not objection:
            context.need_option(OVERLAP_LIMIT, max(2, _most_in_flight(lanes, joined)))
        if payoff.peer and not objection:
            context.need_option(PERMUTE_MODE, PEER_MEMORY)
            context.remark("ACS009", "Asked for copies from device to device: every permute stays inside a process.")
        if payoff.wants_processes and not objection:
            one = f"1x1x{context.topology.size if context.topology is not None else 8}"
            context.remark(
                "ACS016",
                "Did not ask for copies from device to device: XLA makes them inside a process only, and nobody said "
                f"which process owns which device; a topology such as {one} says that one process owns all.",
            )
        if hidden := describe_hidden(op):
            context.remark(HIDDEN, f"There may be transfers that are not seen here: {hidden}. {_WAY}")

    def _annotate(
        self, context: Context, chosen: dict[ir.Operation, _Choice | None], own: Sequence[ir.Operation]
    ) -> None:
        left_over = [op for op in own if chosen.get(op) is None]
        number = 0
        for op, choice in chosen.items():
            if choice is not None:
                stream_annotations.annotate(op, choice.stream, number)
                number += 1
        self.count(context, "num-annotated", number)
        for op in left_over:
            stream_annotations.strip(op)

    def _explain(
        self,
        context: Context,
        lanes: Lanes,
        joined: frozenset[Unit],
        unpaid: Mapping[Unit, Declined],
        streams: dict[Unit, int],
        objection: str,
    ) -> None:
        reported: set[ir.Operation] = set()
        for unit in lanes.units:
            for member in unit.members:
                if member.op in reported:
                    continue
                reported.add(member.op)
                code, text, statistic = self._reason(unit, unit in joined, streams.get(unit), member.op)
                function = member.instance.function
                if function in lanes.unfollowed and unit in streams:
                    code, statistic = "ACS007", ""
                    text = f"Left as it is: too many paths lead to function '{function}'; run MLIR's 'inline' first."
                if unit in unpaid and unit.overlaps_with is not None:
                    (code, reason), statistic = unpaid[unit], ""
                    text = f"Left as it is: {reason}."
                if objection and unit.overlaps_with is not None:
                    but = f"can be in flight with {describe(unit.overlaps_with, member.op)}, but {objection}."
                    if code == "ACS001":
                        code, text, statistic = "ACS012", f"Left as it is: it {but}", ""
                    elif code == "ACS004":
                        text += f" It {but}"
                if statistic:
                    self.count(context, statistic)
                context.remark(code, text, member.op)

    def _reason(self, unit: Unit, joined: bool, stream: int | None, about: ir.Operation) -> tuple[str, str, str]:
        if unit.fixed and not is_group_call(unit.members[0].op):
            text = "Left as it is: written as a start and a done, it runs on XLA's stream 0, and loses any annotation."
            return "ACS013", text, ""
        if unit.fixed:
            return "ACS005", "Left as it is: a group of collectives runs on XLA's stream 0 and takes no annotation.", ""
        if unit.chosen is not None:
            return "ACS004", f"Kept the {unit.chosen} that was there.", ""
        alone = "there is no other collective that it could be in flight with"
        beside = f"it can be in flight with {describe(unit.overlaps_with, about)}" if unit.overlaps_with else alone
        if joined:
            return (
                "ACS003",
                f"Left to XLA, which joins it with {len(unit.members) - 1} more of the same pairs "
                f"({unit.bytes} bytes together) on stream 0; {beside}.",
                "num-left-to-combiner",
            )
        if unit.overlaps_with is None and unit.queued_behind is not None:
            beside = describe(unit.queued_behind.members[-1].op, about)
            return "ACS010", f"Left on XLA's stream 0: {beside} has the same pairs, so the two use the same links.", ""
        if unit.overlaps_with is None:
            return "ACS002", f"Left as it is: {alone}.", "num-alone"
        why_shared = (
            f" It shares the stream with {describe(unit.queued_behind.members[-1].op, about)}: more than "
            f"max-streams={self.max_streams} can be in flight at once, or the two use the same links."
            if unit.queued_behind
            else ""
        )
        return "ACS001", f"Put on stream {stream}: {beside}.{why_shared}", ""


def _streams(lanes: Lanes, left: frozenset[Unit], free: Iterator[int]) -> dict[Unit, int]:
    """Gives the stream of each unit that needs one: lanes are numbered in order of use, with free streams in turn."""
    numbers: dict[int, int] = {}
    chosen: dict[Unit, int] = {}
    for unit in lanes.units:
        if unit.overlaps_with is None or unit.fixed or unit.chosen is not None or unit in left:
            continue
        if unit.lane not in numbers:
            numbers[unit.lane] = next(free)
        chosen[unit] = numbers[unit.lane]
    return chosen


def _is_joined(unit: Unit) -> bool:
    """Says whether XLA's combiner would make one launch of the unit's permutes."""
    return len(unit.members) > 1 and not unit.fixed and unit.chosen is None


def needed_options(module: ir.Operation) -> dict[str, CompileOption]:
    """Returns XLA's options that the annotations of `module`, whoever made them, need to have an effect."""
    symbols = Symbols(module)
    lanes = place(symbols, AssignCollectiveStreams.max_streams, (), KINDS)
    in_company = [unit for unit in lanes.units if _wants_company(unit)]
    if not in_company or _objection(symbols, in_company):
        return {}
    return {OVERLAP_LIMIT: max(2, _most_in_flight(lanes, _left_to_combiner(lanes)))}


def _objection(symbols: Symbols, units: Sequence[Unit]) -> str:
    """Says, as a clause, why XLA is not asked to let these be in flight with others; "" if it is.

    The limit is for all collectives of the module.
    """
    if ragged := overlap_limit.ragged(symbols):
        return f"a higher overlap limit is not asked for beside {describe(ragged, None)}, a ragged all-to-all"
    gaining = [member.op for unit in units for member in unit.members]
    losing = overlap_limit.can_lose(symbols, gaining)
    if len(losing) <= len(gaining):
        return ""
    return (
        f"the overlap limit that this takes is for the whole module: {len(gaining)} collectives gain by it, and "
        f"{len(losing)} for which matmuls wait that XLA merges, such as {describe(losing[0], None)}, can lose what "
        "hides them"
    )


def _left_to_combiner(lanes: Lanes) -> frozenset[Unit]:
    """Gives the units of several permutes that are best left without annotation, for XLA to join on stream 0.

    An annotated permute must not be joined (XLA 0.12 makes the joined one synchronous), so the other choice is one
    launch for each. It is made where something else that can be in flight has to be on stream 0 and the permutes are
    large, and where an annotation of the user's is on one that XLA would join to them.
    """
    on_stream_0: dict[int, list[int]] = {}  # lane -> ascending positions
    left = []
    for unit in lanes.units:
        if _is_joined(unit):
            large = unit.bytes >= _SPLIT_BYTES * len(unit.members) and unit.queued_behind is None
            if unit.joins_annotated or (large and _meets(unit, on_stream_0)):
                continue
            left.append(unit)
        elif not unit.fixed:
            continue
        for member in unit.members:
            bisect.insort(on_stream_0.setdefault(unit.lane, []), member.position)
    return frozenset(left)


def _wants_company(unit: Unit) -> bool:
    """Says whether XLA must be told that a unit without an annotation of ours may be in flight with another one."""
    if unit.chosen is not None:
        return unit.overlaps_with is not None
    return unit.queued_behind is not None and not unit.fixed


def _sizes(lanes: Lanes, axes: MeshAxes) -> dict[Unit, int]:
    """Counts the bytes a device sends at least: XLA may divide along axes that a computation is not manual over."""
    return {unit: unit.bytes // max(axes.parts(member.op) for member in unit.members) for unit in lanes.units}


def _meets(unit: Unit, on_stream_0: dict[int, list[int]]) -> bool:
    for other in unit.concurrent:
        positions = on_stream_0.get(other.lane, [])
        index = bisect.bisect_right(positions, other.after)
        if index < len(positions) and positions[index] <= other.upto:
            return True
    return False


def _most_in_flight(lanes: Lanes, joined: frozenset[Unit]) -> int:
    """Counts the launches that can be in flight at once.

    XLA makes one synchronous if its limit is lower, whatever the streams.
    """
    width: dict[Unit, int] = {}
    most = 0
    for unit in lanes.units:
        launches = 1 if unit in joined else len(unit.members)
        width[unit] = launches + (width[unit.queued_behind] if unit.queued_behind else 0)
        beside = {other.lane: width.get(other.tail, 1) for other in unit.concurrent}
        most = max(most, width[unit] + sum(beside.values()))
    return most
