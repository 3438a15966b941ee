"""Transfers that XLA makes of a module although no collective in it says so: those of its partitioner."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.walk import ops_in

_BY_CALL = "CustomSPMDPartitioning"  # what jax.experimental.custom_partitioning lowers to
_SHARDINGS = ("sdy.sharding", "mhlo.sharding")


def describe_hidden(module: ir.Operation) -> str:
    """Says in a clause what may hide transfers in a module for several partitions; "" where nothing does.

    A module with collectives is taken to say what it sends, but for what a custom call's own partitioning adds.
    """
    if (device_counts(module).partitions or 1) < 2:
        return ""
    ops = ops_in(module)
    calls = [op for op in ops if op.name == "stablehlo.custom_call" and _target(op) == _BY_CALL]
    if calls:
        return "a custom_partitioning says how a call is partitioned only when XLA asks it"
    if any(op.name in KINDS for op in ops):
        return ""
    return "the module is sharded, and XLA's partitioner adds what has to be sent" if any(map(_divides, ops)) else ""


def _target(call: ir.Operation) -> str:
    return ir.StringAttr(call.attributes["call_target_name"]).value


def _divides(op: ir.Operation) -> bool:
    """Tells whether an op, or an argument or a result of a function, is divided over devices."""
    held = [op.attributes]
    for name in ("arg_attrs", "res_attrs"):
        if name in op.attributes:
            held += [ir.DictAttr(each) for each in ir.ArrayAttr(op.attributes[name])]
    return any(_is_divided(str(each[name])) for each in held for name in _SHARDINGS if name in each)


def _is_divided(sharding: str) -> bool:
    """Tells whether a sharding, as MLIR prints it, names an axis of Shardy's, or devices as GSPMD does."""
    return '{"' in sharding or "devices=[" in sharding
