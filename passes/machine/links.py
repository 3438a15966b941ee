"""What the fast links of a target join, and which data leaves that."""

from __future__ import annotations

from typing import Literal

from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Pair, Span, Topology

_ACROSS_PROCESSES = frozenset({Span.HOST, Span.NETWORK, Span.BETWEEN_PROCESSES})


def joined(target: Target | None) -> Literal["hosts", "processes"]:
    """Names what fast links join: hosts, where NVLink joins GPUs whoever owns them.

    On XLA:CPU it is processes: those of one host talk over sockets, too.
    """
    return "processes" if target is not None and target.backend == "cpu" else "hosts"


def leaves(pair: Pair, topology: Topology | None, target: Target | None) -> bool:
    """Says whether data of this pair is known to leave what fast links join."""
    if topology is None:
        return False
    span = topology.span(pair)
    return span in _ACROSS_PROCESSES if joined(target) == "processes" else span is Span.NETWORK
