"""Transfers that are no ops of StableHLO: starts and dones that an XLA does not know, and Shardy's (VCL019, VCL020)."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis import async_pairs, shardy_transfers
from hloverlap.passes.checks.fault import Fault
from hloverlap.passes.context import Context
from hloverlap.passes.machine.capabilities import Capabilities
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks for custom calls that start a collective, and at the ops of Shardy's dialect."""
    for fault in find(module, context.capabilities):
        fault.tell(context)


def find(module: ir.Operation, capabilities: Capabilities) -> list[Fault]:
    """Gives what is wrong: each start that XLA does not know, and once what Shardy has still to make ops of."""
    faults = []
    if not capabilities.knows_async_pairs:
        text = (
            "It starts a collective by a custom call, which XLA of this jaxlib does not know: it refuses the module. "
            "Write the collective itself, or use jaxlib 0.12."
        )
        starts = [op for op in ops_in(module, async_pairs.CUSTOM_CALL) if async_pairs.started_kind(op)]
        faults += [Fault("VCL019", "error", text, op) for op in starts]
    if shardy := shardy_transfers.find(module):
        faults.append(Fault("VCL020", "warning", shardy.text, shardy.first))
    return faults
