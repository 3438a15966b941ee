"""Tells a pass about the world, and takes word of what it did."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from jaxlib.mlir import ir

from hloverlap.passes.machine import links
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Pair, Topology
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.remark import Remark


class Declined(NamedTuple):
    """Says why a pass leaves something as it is."""

    code: str
    """The code of the remark that says so."""
    reason: str
    """A clause, without a full stop."""


@dataclasses.dataclass
class Context:
    """Holds what the passes of one run over one module are told, and what they say."""

    topology: Topology | None = None
    """Where each partition is; None when nobody said (then nothing is known to cross hosts)."""
    target: Target | None = None
    """The machine that the result is for. None when nobody said: then a pass does what XLA can make use of anywhere,
    and nothing that rests on what transfers cost."""
    capabilities: Capabilities = dataclasses.field(default_factory=Capabilities)
    """What the XLA version can do that the result is for."""
    remarks: list[Remark] = dataclasses.field(default_factory=list)
    """In the order in which passes made them."""
    statistics: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    """Pass name -> statistic -> count; filled by `count`."""
    compile_options: dict[str, CompileOption] = dataclasses.field(default_factory=dict)
    """What XLA must be told for the rewrite to take effect, name -> value."""

    def remark(self, code: str, message: str, op: ir.Operation | None = None, severity: str = "remark") -> None:
        """Leaves a remark about `op`, at the source line it came from."""
        file, line = source_of(op.location) if op is not None else ("", 0)
        self.remarks.append(Remark(code, severity, message, op.name if op is not None else "", file, line))

    @property
    def joined(self) -> str:
        """Names what fast links join on the target: ``hosts``, or, on XLA:CPU, ``processes``."""
        return links.joined(self.target)

    def leaves(self, pair: Pair) -> bool:
        """Says whether data of this pair is known to leave what fast links join."""
        return links.leaves(pair, self.topology, self.target)

    def count(self, pass_name: str, statistic: str, amount: int = 1) -> None:
        """Adds to a named statistic of a pass."""
        counts = self.statistics.setdefault(pass_name, {})
        counts[statistic] = counts.get(statistic, 0) + amount

    def need_option(self, name: str, value: CompileOption) -> None:
        """Asks for an XLA option; where two passes ask for a number, the larger one holds."""
        held = self.compile_options.get(name)
        if isinstance(held, int) and isinstance(value, int) and not isinstance(value, bool):
            value = max(held, value)
        self.compile_options[name] = value

    def errors(self) -> Iterable[Remark]:
        """Gives the remarks that make a run a failure."""
        return (remark for remark in self.remarks if remark.severity == "error")
