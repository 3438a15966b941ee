"""Says which collectives gain by a stream of their own, and whether copies from device to device do, on a target.

Permutes of one set of GPUs share a communicator of NCCL, which runs them in turn whatever their streams. So inside a
process streams pay together with copies from device to device, which do without NCCL. XLA makes such copies inside a
process only; elsewhere streams pay where compute runs beside. docs/measurements.md has both measured.
"""

from __future__ import annotations

from collections.abc import Mapping

from hloverlap.passes.analysis.collectives import PERMUTE, Collective
from hloverlap.passes.analysis.concurrency import Unit
from hloverlap.passes.analysis.cost import CostModel
from hloverlap.passes.analysis.loops import executions
from hloverlap.passes.analysis.matmuls_beside import MatmulsBeside
from hloverlap.passes.context import Context, Declined
from hloverlap.passes.machine.topology import Span
from hloverlap.passes.mlir.symbols import Symbols

_INSIDE_PROCESS = frozenset({Span.PROCESS})
_MAYBE_INSIDE_PROCESS = frozenset({Span.PROCESS, Span.INSIDE_HOST})


class Payoff:
    """Knows what pays for the collectives of one module."""

    def __init__(self, sizes: Mapping[Unit, int], symbols: Symbols, context: Context) -> None:
        """Looks at the collectives. sizes: the bytes that a device sends in each."""
        self._sizes = sizes
        self._context = context
        self._costs = CostModel(context.target, context.topology)
        self._spans = {unit: self._spans_of(unit) for unit in sizes}
        self._beside = MatmulsBeside(symbols)
        crossed = frozenset[Span]().union(*self._spans.values())
        gains = self._peer_gains()
        self.peer = gains and crossed <= _INSIDE_PROCESS
        """Whether copies from device to device pay: every permute must be known to stay inside a process."""
        self.wants_processes = gains and not self.peer and crossed <= _MAYBE_INSIDE_PROCESS
        """Whether they would, if somebody said that all is one process."""

    def declined(self) -> dict[Unit, Declined]:
        """Says which lose by a stream of their own, and of which nobody knows; {} where no target was given."""
        found = {unit: self._objection(unit) for unit in self._sizes if not unit.fixed and self._context.target}
        return {unit: objection for unit, objection in found.items() if objection is not None}

    def _objection(self, unit: Unit) -> Declined | None:
        assert self._context.target is not None, "asked what pays on an unknown machine"
        costs, name, size = self._context.target.costs, self._costs.name, self._sizes[unit]
        few = Declined("ACS008", f"{size} bytes are too few for a stream to pay on {name}")
        if costs.stream_bytes is None:
            return self._unknown(f"on {name}", "stream_bytes")
        if self.peer or not self._costs.measures_peer:
            return few if size < costs.stream_bytes else None
        for span in (Span.NETWORK, Span.BETWEEN_PROCESSES):
            if span in self._spans[unit]:
                return Declined("ACS011", f"whether a stream pays for what goes {span.value} on {name} is not known")
        least = costs.stream_bytes_beside_compute
        if size < costs.stream_bytes or self._spans[unit] <= _INSIDE_PROCESS:
            return few
        if least is None:
            return self._unknown(f"through NCCL on {name}", "stream_bytes_beside_compute")
        if size < least:
            return Declined("ACS008", f"{size} bytes are too few for a stream to pay through NCCL on {name}")
        if not any(self._beside.has_one(member.op, member.instance) for member in unit.members):
            return Declined("ACS017", f"no matmul can run beside it, and else no stream pays through NCCL on {name}")
        return None

    @staticmethod
    def _unknown(where: str, cost: str) -> Declined:
        reason = f"whether a stream pays {where} is not known; a target file with costs.{cost} says it"
        return Declined("ACS011", reason)

    def _spans_of(self, unit: Unit) -> frozenset[Span]:
        topology = self._context.topology
        permutes = [Collective.of(member.op) for member in unit.members if member.op.name == PERMUTE]
        pairs = [pair for permute in permutes for pair in permute.canonical_pairs]
        return frozenset(Span.INSIDE_HOST if topology is None else topology.span(pair) for pair in pairs)

    def _peer_gains(self) -> bool:
        """Whether the permutes would gain by copies from device to device, if all stayed inside a process."""
        if not self._costs.measures_peer or any(unit.fixed for unit in self._sizes):
            return False
        firsts = [(size, unit.members[0]) for unit, size in self._sizes.items()]
        return self._costs.prefers_peer([(size, executions(first.op, first.instance)) for size, first in firsts])
