"""Ops of the MHLO dialect, which XLA's conversion of HLO to StableHLO leaves where StableHLO has no such op.

Some say what StableHLO or CHLO say in other words: `to_stablehlo` puts it so. The rest is XLA's alone.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from hloverlap.passes.mlir.walk import ops_in

COPY, ERF, TOPK = "mhlo.copy", "mhlo.erf", "mhlo.topk"

# Compute values from values, in no order but that of the data.
PURE = frozenset({COPY, ERF, TOPK})

_SHARDING, _FRONTEND_ATTRIBUTES = "mhlo.sharding", "mhlo.frontend_attributes"


def to_stablehlo(root: ir.Operation, keep_annotated: bool = False) -> None:
    """Replaces what StableHLO and CHLO can say inside `root`, with the same values, shardings and annotations.

    A copy is its operand; with a sharding it is what XLA's sharding propagation made of ``@Sharding``, and becomes it.
    keep_annotated: a copy with frontend attributes stays, since they would have no place.
    """
    for op in ops_in(root, *_REPLACEMENTS):
        if keep_annotated and op.name == COPY and _FRONTEND_ATTRIBUTES in op.attributes:
            continue
        replacement = _REPLACEMENTS[op.name](op)
        if replacement is None:
            continue
        for old, new in zip(op.results, replacement, strict=True):
            old.replace_all_uses_with(new)
        op.erase()


def _copy(op: ir.Operation) -> list[ir.Value]:
    if _SHARDING in op.attributes:
        return _create("stablehlo.custom_call", op, {"call_target_name": ir.StringAttr.get("Sharding", op.context)})
    return [op.operands[0]]


def _erf(op: ir.Operation) -> list[ir.Value]:
    return _create("chlo.erf", op)


def _topk(op: ir.Operation) -> list[ir.Value] | None:
    if "largest" in op.attributes and not ir.BoolAttr(op.attributes["largest"]).value:
        return None  # CHLO's takes the largest ones
    return _create("chlo.top_k", op, {"k": op.attributes["k"]})


def _create(name: str, op: ir.Operation, attributes: dict[str, ir.Attribute] | None = None) -> list[ir.Value]:
    """Builds an op in the place of `op`, of the same operands and results, with what others have attached to it."""
    kept = {
        attribute: op.attributes[attribute]
        for attribute in (_SHARDING, _FRONTEND_ATTRIBUTES)
        if attribute in op.attributes
    }
    created = ir.Operation.create(
        name,
        results=[result.type for result in op.results],
        operands=list(op.operands),
        attributes={**(attributes or {}), **kept},
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    return list(created.results)


_REPLACEMENTS: dict[str, Callable[[ir.Operation], list[ir.Value] | None]] = {COPY: _copy, ERF: _erf, TOPK: _topk}
