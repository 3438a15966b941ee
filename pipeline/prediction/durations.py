"""Estimates how long the steps of a schedule take on a machine, in microseconds."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Costs, Host, Link
from hloverlap.passes.machine.topology import Pair, Span, Topology
from hloverlap.pipeline.prediction.schedule import Message, Step

_T = TypeVar("_T")

REFERENCE = "h200"
"""The machine whose costs stand in for what another machine's file leaves out."""

# How fast tensor cores multiply other types than 16-bit floats, as data sheets of several generations say; f32 as TF32.
_RATES = {"f32": 0.5, "f64": 0.0625, "s8": 2.0, "u8": 2.0}

# Of the bandwidth on the data sheet, by which XLA's bounds are made, kernels reach so much: 2.9 of 4.8 TB/s on an H200
# (docs/measurements.md).
_REACHED = 0.6


@dataclasses.dataclass(frozen=True)
class Way:
    """How a launch moves its bytes."""

    time: float
    """From its start to its end, alone."""

    resources: tuple[str, ...] = ()
    """What it keeps from others meanwhile: NCCL's communicator, or links."""

    slows: float = 0.0
    """The share of its speed that compute beside it loses, as NCCL runs on multiprocessors."""


class Durations:
    """Times on one machine."""

    def __init__(self, costs: Costs, topology: Topology) -> None:
        """Keeps what to ask. costs: the machine's; what they leave out is `REFERENCE`'s, and `borrowed` says so."""
        self.borrowed: set[str] = set()
        """The costs that were asked for and are not the machine's own, by name."""
        self._costs = costs
        self._topology = topology

    @property
    def host_costs(self) -> Host:
        """Gives what the host takes to start things."""
        return self._cost("host", lambda costs: costs.host)

    def host(self, step: Step) -> float:
        """Gives how long the host takes to start a kernel or a transfer."""
        if step.kind == "kernel":
            return self.host_costs.kernel
        return self.host_costs.peer if self._copies(step.messages) else self.host_costs.transfer

    def kernel(self, step: Step) -> float:
        """Gives the time of a kernel: what its operations or its bytes take, whichever is longer.

        XLA's own bound counts where it is no matmul: it knows which operands a fusion reads in part only. Of products
        that are summed up in 32 bits it takes the rate without tensor cores, which is too slow by a factor of fifty.
        """
        work = step.bytes / (2 * self._cost("copy", lambda costs: costs.copy))
        if step.multiplies:
            rate = self._cost("matmul", lambda costs: costs.matmul) * _rate(step.multiplies)
            work = max(work, step.flops / rate)
        elif step.speed_of_light is not None:
            work = max(step.speed_of_light, min(work, step.speed_of_light / _REACHED))
        return self._cost("kernel", lambda costs: costs.kernel) + work

    def transfer(self, messages: Sequence[Message]) -> Way:
        """Gives how a launch of these collectives goes: its permutes at once, each link as long as its bytes take."""
        load: Counter[Pair] = Counter()
        time = 0.0
        members = 0
        for message in messages:
            if not message.is_permute:
                time += self._collective(message)
                continue
            members += message.members
            load.update({pair: message.bytes for pair in message.pairs if pair[0] != pair[1]})
        if load:
            time += self._permutes(load, members, self._copies(messages))
        if self._copies(messages):
            return Way(time, tuple(f"{source}>{target}" for source, target in sorted(load)))
        slows = self._cost("slowdown", lambda costs: costs.slowdown)
        if load and _is_one_way(load) and self._costs.slowdown_one_way is not None:
            slows = self._costs.slowdown_one_way
        return Way(time, ("nccl",), slows)

    def _permutes(self, load: Counter[Pair], members: int, by_copy: bool) -> float:
        link = self._link(load, by_copy)
        bandwidth = link.one_way if link.one_way is not None and _is_one_way(load) else link.bandwidth
        return link.latency + (link.member or 0.0) * (members - 1) + max(load.values()) / bandwidth

    def _collective(self, message: Message) -> float:
        """Gives the time of the ring algorithm, which sends to a neighbour as often as there are others."""
        groups = message.groups or (tuple(range(self._topology.size)),)
        size = max(map(len, groups))
        if size < 2:
            return message.bytes / (2 * self._cost("copy", lambda costs: costs.copy))
        link = self._link([(group[0], other) for group in groups for other in group[1:]], by_copy=False)
        shares = {"all-reduce": 2 * (size - 1) / size, "reduce-scatter": size - 1.0}
        return link.latency + message.bytes * shares.get(message.opcode, (size - 1) / size) / link.bandwidth

    def _copies(self, messages: Sequence[Message]) -> bool:
        """Says whether XLA copies from device to device, which it does inside a process only."""
        return all(message.by_copy and self._spans(message.pairs) <= {Span.PROCESS} for message in messages)

    def _spans(self, pairs: Iterable[Pair]) -> set[Span]:
        return {self._topology.span(pair) for pair in pairs}

    def _link(self, pairs: Iterable[Pair], by_copy: bool) -> Link:
        """Gives the slowest link that these pairs use. A host of which nobody said the processes is one process."""
        spans = self._spans(pairs)
        if Span.NETWORK in spans:
            return self._cost("cross_host", lambda costs: costs.cross_host)
        if spans & {Span.HOST, Span.BETWEEN_PROCESSES}:
            return self._cost("same_host", lambda costs: costs.same_host)
        if by_copy:
            return self._cost("peer", lambda costs: costs.peer)
        return self._cost("same_process", lambda costs: costs.same_process)

    def _cost(self, name: str, of: Callable[[Costs], _T | None]) -> _T:
        found = of(self._costs)
        if found is None:
            self.borrowed.add(name)
            found = of(targets.find(REFERENCE).costs)
        assert found is not None, f"{REFERENCE} has all costs"
        return found


def _is_one_way(pairs: Collection[Pair]) -> bool:
    """Says whether no device sends and receives."""
    senders = {source for source, _ in pairs}
    return not any(target in senders for _, target in pairs)


def _rate(dtype: str) -> float:
    return 2.0 if dtype.startswith("f8") else _RATES.get(dtype, 1.0)
