"""Looks for what breaks XLA, deadlocks, or gives wrong results; changes nothing."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.base import Pass
from hloverlap.passes.checks import (
    annotation_checks,
    branch_checks,
    flight_checks,
    pair_checks,
    scheduling_checks,
    unseen_checks,
)
from hloverlap.passes.context import Context
from hloverlap.passes.mlir.symbols import Symbols

_CHECKS = (
    annotation_checks.check,
    pair_checks.check,
    flight_checks.check,
    branch_checks.check,
    scheduling_checks.check,
    unseen_checks.check,
)


@dataclasses.dataclass(frozen=True)
class VerifyCollectives(Pass):
    """Reports faults: an error is what makes XLA stop or abort.

    A warning is what can go wrong when it runs; a remark, what is odd.
    """

    name = "verify-collectives"
    summary = "Reports collectives that abort XLA, can deadlock or give wrong results; changes nothing."
    example = """\
before: %0 = "stablehlo.collective_permute"(%x) … {mhlo.frontend_attributes = {_xla_stream_annotation = "fast"}}
says:   error: VCL001: The stream annotation 'fast' is no decimal number of 32 bits: XLA aborts the process."""
    statistics: ClassVar[dict[str, str]] = {
        "num-errors": "what XLA refuses or aborts on",
        "num-warnings": "what can go wrong at run time",
    }
    remarks: ClassVar[dict[str, str]] = {
        "VCL001": "its stream annotation is no decimal number of 32 bits: XLA aborts",
        "VCL002": "its stream annotation is negative, or a stream that nobody else uses",
        "VCL003": "a stream annotation on a call of what holds a collective does not compile",
        "VCL004": "a stream annotation on a group does not compile, and in one has no effect",
        "VCL005": "its pairs name a device that is not there, or one twice",
        "VCL006": "it sends nothing: every device named sends to itself",
        "VCL007": "its pairs are a ring of fewer devices than there are",
        "VCL008": "its pairs are several cycles, of which XLA may close only the last",
        "VCL009": "XLA joins it with another one, and aborts on their annotations",
        "VCL010": "XLA joins it with another one, and does not keep to what they carry",
        "VCL011": "it can be in flight with another one on another stream, between the same devices",
        "VCL012": "devices can take different ways, on which there are not the same collectives",
        "VCL013": "its stream annotation names a stream of XLA's own",
        "VCL014": "XLA refuses its communication domain",
        "VCL015": "it is in a group, and a device that receives nothing does not get zeros",
        "VCL016": "a group that is to stay whole, which this XLA refuses in many places",
        "VCL017": "a scheduling group in a function that runs twice in a row, which XLA refuses",
        "VCL018": "the module does not say for how many devices it is",
        "VCL019": "a custom call starts a collective, which this XLA does not know and refuses",
        "VCL020": "transfers in Shardy's form, which no pass sees",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Makes each of the checks on the module, and counts what they found."""
        symbols = Symbols(op)
        before = len(context.remarks)
        for check in _CHECKS:
            check(op, symbols, context)
        said = [remark.severity for remark in context.remarks[before:]]
        self.count(context, "num-errors", said.count("error"))
        self.count(context, "num-warnings", said.count("warning"))
