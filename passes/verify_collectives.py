"""Looks for what breaks XLA, deadlocks, or gives wrong results; changes nothing."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.base import Pass
from hloverlap.passes.checks import annotation_checks, branch_checks, flight_checks, pair_checks
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.symbols import Symbols

_CHECKS = (annotation_checks.check, pair_checks.check, flight_checks.check, branch_checks.check)


@dataclasses.dataclass(frozen=True)
class VerifyCollectives(Pass):
    """An error is what makes XLA stop or abort; a warning, what can go wrong when it runs; a remark, what is odd."""

    name = "verify-collectives"
    summary = "Reports collectives that abort XLA, can deadlock or give wrong results; changes nothing."
    example = """\
before: %0 = "stablehlo.collective_permute"(%x) … {mhlo.frontend_attributes = {_xla_stream_annotation = "fast"}}
says:   error: VCL001: The stream annotation 'fast' is no decimal number: XLA aborts the process."""
    statistics: ClassVar[dict[str, str]] = {
        "num-errors": "what XLA refuses or aborts on",
        "num-warnings": "what can go wrong at run time",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        symbols = Symbols(op)
        before = len(context.remarks)
        for check in _CHECKS:
            check(op, symbols, context)
        said = [remark.severity for remark in context.remarks[before:]]
        self.count(context, "num-errors", said.count("error"))
        self.count(context, "num-warnings", said.count("warning"))
