"""Carries facts about what devices agree on from value to value, op by op, inside of one function.

The function has a work list of its ops: an op is looked at again when a fact about one of its operands changes.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.analysis.agreement import Agreement, Agreements
from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, mode_of, pairs_of
from hloverlap.passes.analysis.function_values import FunctionValues, predicate_of
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.mlir.meshes import AxisPart, Group, Meshes
from hloverlap.passes.mlir.modules import DeviceCounts
from hloverlap.passes.mlir.symbols import CALLS
from hloverlap.passes.mlir.walk import CONDITIONALS, INLINED_REGIONS, LOOP, MANUAL_COMPUTATION, STEPS, terminator

_BARRIER = "stablehlo.optimization_barrier"
_CUSTOM_CALL = "stablehlo.custom_call"
_DIFFER = frozenset({"stablehlo.infeed", "stablehlo.recv", "stablehlo.rng"})  # whatever they are given
_BY_MEMBER = frozenset({"stablehlo.all_to_all", "stablehlo.reduce_scatter"})
# How GSPMD enters and leaves a manual computation.
ENTERS, _LEAVES = "SPMDFullToShardShape", "SPMDShardToFullShape"
SHARDING = "mhlo.sharding"
_MOST_CHANGES = 8  # of the fact about one value; then nothing is taken for known of it

CallRule = Callable[[ir.Operation, tuple[Agreement, ...]], Sequence[Agreement] | None]
"""Gives agreement on the results of a call, of that on its operands; None for a function that is not known."""


@dataclasses.dataclass(frozen=True)
class Devices:
    """Says who there is, and how they are grouped."""

    counts: DeviceCounts
    groups: ReplicaGroups
    meshes: Meshes
    agreements: Agreements

    @property
    def partitions(self) -> int:
        """Counts the partitions of each replica."""
        return self.counts.partitions or 1

    def on_all_replicas(self, groups: Sequence[Group]) -> list[Group]:
        """Gives the devices of groups of partitions, once for each replica."""
        firsts = range(0, self.counts.devices, self.partitions)
        return [tuple(first + number for number in group) for first in firsts for group in groups]


class AgreementFlow:
    """Follows facts about the values of one function, given those about its arguments."""

    def __init__(
        self, devices: Devices, function: FunctionValues, arguments: Sequence[Agreement], call: CallRule
    ) -> None:
        self._devices = devices
        self._agreements = devices.agreements
        self._call_rule = call
        self._function = function
        self._held: dict[ir.Value, Agreement] = dict(zip(function.arguments, arguments, strict=True))
        self._changes: dict[ir.Value, int] = {}
        self._waiting = list(range(len(function.ops)))  # a heap
        self._is_waiting = set(self._waiting)

    def run(self) -> list[Agreement]:
        """Follows until nothing changes; gives agreement on the results."""
        while self._waiting:
            number = heapq.heappop(self._waiting)
            self._is_waiting.discard(number)
            op = self._function.ops[number]
            _RULES.get(op.name, AgreementFlow._other)(self, op, self._function.inputs[number])
        return [self._of(value) for value in self._function.results]

    def decisions(self) -> list[tuple[int, Agreement]]:
        """Gives the agreement on what each loop and conditional goes by, with the op's number."""
        return [
            (number, self._of(predicate_of(op))) for number, op in enumerate(self._function.ops) if op.name in STEPS
        ]

    def _of(self, value: ir.Value) -> Agreement:
        return self._held.get(value, self._agreements.all)

    def _join(self, values: Sequence[ir.Value]) -> Agreement:
        return self._agreements.join_all(self._of(value) for value in values)

    def _add(self, values: Sequence[ir.Value], agreement: Agreement) -> None:
        """Takes it that devices agree on `values` no more than so."""
        for value in values:
            old = self._of(value)
            new = self._agreements.join(old, agreement)
            if new == old:
                continue
            changes = self._changes[value] = self._changes.get(value, 0) + 1
            self._held[value] = new if changes < _MOST_CHANGES else self._agreements.none
            for user in self._function.users.get(value, ()):
                if user not in self._is_waiting:
                    self._is_waiting.add(user)
                    heapq.heappush(self._waiting, user)

    def _other(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        if not len(op.results):
            return
        if op.results[0] in self._function.values:
            agreement = self._agreements.of(self._function.values[op.results[0]].tolist())
        elif op.name in _DIFFER:
            agreement = self._agreements.none
        else:
            agreement = self._join(inputs)
        self._add(op.results, agreement)

    def _collective(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        groups = self._devices.groups.of(op, self._devices.counts)
        for value, result in zip(inputs, op.results, strict=False):
            if op.name == PERMUTE:
                agreement = self._permuted(op, self._of(value))
            else:
                agreement = self._agreements.gathered(self._of(value), groups, op.name in _BY_MEMBER)
            self._add([result], agreement)

    def _permuted(self, op: ir.Operation, value: Agreement) -> Agreement:
        """Has a device agree with others whose sources agreed, and with others that get zeros."""
        partitions = self._devices.partitions
        source_of = {target: source for source, target in pairs_of(op)}
        keys: list[int | None] = []
        for device in range(self._devices.counts.devices):
            replica, partition = divmod(device, partitions)
            if mode_of(op) == "partition":
                source = source_of.get(partition)
                keys.append(None if source is None else value[replica * partitions + source])
            else:
                source = source_of.get(replica)
                keys.append(None if source is None else value[source * partitions + partition])
        return self._agreements.of(keys)

    def _loop(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        predicate = self._of(predicate_of(op))
        given = terminator(body).operands
        for number, value in enumerate(inputs):
            carried = self._join([value, given[number]])
            self._add([condition.arguments[number], body.arguments[number]], carried)
            self._add([op.results[number]], self._agreements.join(carried, predicate))

    def _conditional(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        ends = [terminator(region.blocks[0]).operands for region in op.regions]
        for number, result in enumerate(op.results):
            self._add([result], self._join([predicate_of(op), *(given[number] for given in ends)]))

    def _one_by_one(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        for value, result in zip(inputs, op.results, strict=True):
            self._add([result], self._of(value))

    def _named(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        inner = op.regions[0].blocks[0]
        for value, argument in zip(inputs, inner.arguments, strict=True):
            self._add([argument], self._of(value))
        self._one_by_one(op, list(terminator(inner).operands))

    def _manual(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        """Has an argument differ along the axes that divide it; a result is whole again, along the manual axes."""
        inner = op.regions[0].blocks[0]
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["in_shardings"]).shardings
        for value, argument, sharding in zip(inputs, inner.arguments, shardings, strict=True):
            self._add(
                [argument], self._agreements.join(self._of(value), self._part_of(sdy.TensorShardingAttr(sharding)))
            )
        axes = sdy.ManualAxesAttr(op.attributes["manual_axes"])
        names = [str(axes[number]).strip('"') for number in range(len(axes))]
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["out_shardings"]).shardings
        for value, result, sharding in zip(terminator(inner).operands, op.results, shardings, strict=True):
            mesh = self._devices.meshes.of(sdy.TensorShardingAttr(sharding).mesh_or_ref)
            groups = mesh.groups(AxisPart(name) for name in names if name in mesh.sizes)
            self._add(
                [result], self._agreements.gathered(self._of(value), self._devices.on_all_replicas(groups), False)
            )

    def _part_of(self, sharding: sdy.TensorShardingAttr) -> Agreement:
        """Has devices agree that hold the same part of an array."""
        mesh = self._devices.meshes.of(sharding.mesh_or_ref)
        dimensions = [sdy.DimensionShardingAttr(each).axes for each in sharding.dimension_shardings]
        axes = [AxisPart.of(axis) for part in (*dimensions, sharding.unreduced_axes) for axis in part]
        places = mesh.places(axes)
        partitions = self._devices.partitions
        return self._agreements.of(places.get(number % partitions) for number in range(self._devices.counts.devices))

    def _custom_call(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        """Lets a call into the host give each device its own; GSPMD's are known by name."""
        target = custom_call_target(op)
        agreement = self._join(inputs)
        if target == ENTERS:
            maker = inputs[0].owner
            is_whole = not isinstance(maker, ir.Block) and not _is_divided(maker.operation)
            agreement = agreement if is_whole else self._agreements.none
        elif target == _LEAVES:
            agreement = self._agreements.all
        elif "callback" in target or ("has_side_effect" in op.attributes and op.attributes["has_side_effect"].value):
            agreement = self._agreements.none
        self._add(op.results, agreement)

    def _call(self, op: ir.Operation, inputs: Sequence[ir.Value]) -> None:
        given = self._call_rule(op, tuple(self._of(value) for value in inputs))
        for number, result in enumerate(op.results):
            self._add([result], self._join(inputs) if given is None else given[number])


_RULES: dict[str, Callable[[AgreementFlow, ir.Operation, Sequence[ir.Value]], None]] = {
    **dict.fromkeys(KINDS, AgreementFlow._collective),
    **dict.fromkeys(CALLS, AgreementFlow._call),
    **dict.fromkeys(CONDITIONALS, AgreementFlow._conditional),
    **dict.fromkeys(INLINED_REGIONS, AgreementFlow._named),
    LOOP: AgreementFlow._loop,
    MANUAL_COMPUTATION: AgreementFlow._manual,
    _BARRIER: AgreementFlow._one_by_one,
    _CUSTOM_CALL: AgreementFlow._custom_call,
}


def custom_call_target(op: ir.Operation) -> str:
    """Gives what a custom call calls; "" of another op."""
    return str(ir.StringAttr(op.attributes["call_target_name"]).value) if op.name == _CUSTOM_CALL else ""


def _is_divided(maker: ir.Operation) -> bool:
    """Says whether GSPMD divides the result of an op."""
    return SHARDING not in maker.attributes or "replicated}" not in str(maker.attributes[SHARDING]).replace('"', "")
