"""Describes what is wrong with an op, for whoever wants to tell it."""

from __future__ import annotations

import dataclasses

from jaxlib.mlir import ir

from hloverlap.passes.context import Context


@dataclasses.dataclass(frozen=True, eq=False)
class Fault:
    """Says that XLA refuses something, aborts over it, or does otherwise than was meant."""

    code: str
    """Of a remark, such as ``VCL001``."""
    severity: str
    """``error``, ``warning`` or ``remark``."""
    text: str
    """A sentence or two."""
    op: ir.Operation
    others: tuple[ir.Operation, ...] = ()
    """Collectives that it is about, too."""

    def tell(self, context: Context) -> None:
        """Leaves a remark about the op."""
        context.remark(self.code, self.text, self.op, self.severity)
