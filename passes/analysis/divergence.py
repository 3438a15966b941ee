"""Finds which devices are sure to agree on the way that they take at each loop and conditional.

A value is the same on all devices where it comes from constants, from what is whole outside of manual computations, and
from collectives over all of them. An argument that a manual computation divides differs along the axes that divide it,
a result of ``partition_id`` from device to device. Facts go from value to value, through regions, and through calls
once for each different set of facts about the arguments.

Each function has a work list of its ops: an op is looked at again when a fact about one of its operands changes, which
happens a few times at most, so the work is in proportion to the module.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.analysis.agreement import Agreement, Agreements
from hloverlap.passes.analysis.agreement_flow import ENTERS, SHARDING, AgreementFlow, Devices, custom_call_target
from hloverlap.passes.analysis.function_values import FunctionValues
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.mlir.meshes import Meshes
from hloverlap.passes.mlir.modules import MAIN, DeviceCounts
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import MANUAL_COMPUTATION, FreeValues, ops_in

_MOST_CONTEXTS = 32  # in which a function is followed; further calls of it are taken for the least that is known


class Divergence:
    """Follows a module from where execution begins, and knows how devices decide at loops and conditionals.

    Raises MeshError for a mesh or an axis that is not there.
    """

    def __init__(self, module: ir.Operation, symbols: Symbols, groups: ReplicaGroups, counts: DeviceCounts) -> None:
        self._symbols = symbols
        self._agreements = Agreements(counts.devices)
        self._devices = Devices(counts, groups, Meshes(module), self._agreements)
        self._has_global_view = any(
            op.name == MANUAL_COMPUTATION or custom_call_target(op) == ENTERS
            for op in ops_in(module, MANUAL_COMPUTATION, "stablehlo.custom_call")
        )
        self._free = FreeValues()
        self._functions: dict[str, FunctionValues] = {}
        self._contexts: dict[str, dict[tuple[Agreement, ...], list[Agreement]]] = {}
        self._least: dict[str, tuple[Agreement, ...]] = {}
        self._decisions: dict[tuple[str, int], dict[Agreement, None]] = {}
        for name in symbols.roots():
            self._call(name, self._given(name))

    def decisions(self) -> list[tuple[ir.Operation, list[Agreement]]]:
        """Lists the loops and conditionals that are reached, each with what devices agree on its predicate there."""
        order = {name: number for number, name in enumerate(self._symbols.functions)}
        found = sorted(self._decisions, key=lambda key: (order[key[0]], key[1]))
        return [(self._functions[name].ops[number], list(self._decisions[name, number])) for name, number in found]

    def _call(self, name: str, arguments: tuple[Agreement, ...]) -> list[Agreement] | None:
        """Says what devices agree on in each result of a function; None where there is none, or it calls itself."""
        if name not in self._symbols.functions or not len(self._symbols.functions[name].regions[0].blocks):
            return None
        contexts = self._contexts.setdefault(name, {})
        if len(contexts) >= _MOST_CONTEXTS and arguments not in contexts:
            least = self._least.get(name, arguments)
            arguments = tuple(self._agreements.join(*pair) for pair in zip(least, arguments, strict=True))
            self._least[name] = arguments
        if arguments not in contexts:
            if name not in self._functions:
                self._functions[name] = FunctionValues.of(
                    self._symbols.functions[name], self._devices.counts, self._free
                )
            function = self._functions[name]
            contexts[arguments] = [self._agreements.none] * len(
                function.results
            )  # what a recursive function would find
            flow = AgreementFlow(self._devices, function, arguments, self._call_of)
            contexts[arguments] = flow.run()
            for number, agreement in flow.decisions():
                self._decisions.setdefault((name, number), {})[agreement] = None
        return contexts[arguments]

    def _call_of(self, op: ir.Operation, arguments: tuple[Agreement, ...]) -> list[Agreement] | None:
        return self._call(str(self._symbols.callee(op)), arguments)

    def _given(self, name: str) -> tuple[Agreement, ...]:
        """Gives what devices agree on in the arguments of a function where execution begins."""
        function = self._symbols.functions[name]
        count = len(function.regions[0].blocks[0].arguments) if len(function.regions[0].blocks) else 0
        given = [self._agreements.all] * count
        if name != MAIN:
            return tuple(given)
        by_replica = self._agreements.of(
            number // (self._devices.partitions) for number in range(self._devices.counts.devices)
        )
        attributes = ir.ArrayAttr(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else None
        for number in range(count):
            held = ir.DictAttr(attributes[number]) if attributes is not None else {}
            if not self._has_global_view and _divides(held):
                given[number] = self._agreements.none
            elif "mhlo.is_same_data_across_replicas" not in held:
                given[number] = by_replica
        return tuple(given)


def _divides(attributes: ir.DictAttr | dict[str, ir.Attribute]) -> bool:
    """Says whether the attributes of an argument divide it, in a module that is about one device's part."""
    if SHARDING in attributes:
        return "devices=" in str(attributes[SHARDING])
    if "sdy.sharding" in attributes:
        sharding = sdy.TensorShardingAttr(attributes["sdy.sharding"])
        return any(len(sdy.DimensionShardingAttr(each).axes) for each in sharding.dimension_shardings)
    return False
