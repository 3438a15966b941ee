"""Collects what MLIR says while it parses, verifies and runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from jaxlib.mlir import ir

from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.remark import Remark

# MLIR adds this note to every message about an operation, and the bindings have no switch for it.
_PRINTED_OPERATION = "see current operation"


@contextlib.contextmanager
def collected(context: ir.Context, found: list[Remark]) -> Iterator[None]:
    """Appends to `found` every diagnostic of `context` inside the block, notes after what they belong to."""

    def take(diagnostic: ir.Diagnostic) -> bool:
        for each in (diagnostic, *diagnostic.notes):
            if not each.message.startswith(_PRINTED_OPERATION):
                file, line = source_of(each.location)
                found.append(Remark("", each.severity.name.lower(), each.message, file=file, line=line))
        return True

    # Otherwise the bindings keep errors for the exception that they raise, and they lose their order among the rest.
    before, context.emit_error_diagnostics = context.emit_error_diagnostics, True
    handler: Any = context.attach_diagnostic_handler(take)
    try:
        yield
    finally:
        handler.detach()
        context.emit_error_diagnostics = before


def first_error(remarks: Iterable[Remark]) -> Remark | None:
    """Gives the first error of MLIR's own; None where there is none."""
    return next((remark for remark in remarks if _is_error(remark)), None)


def without_errors(remarks: Iterable[Remark]) -> list[Remark]:
    """Gives all but MLIR's own errors and their notes: an error is raised, or somebody has caught it."""
    kept = []
    follows_error = False
    for remark in remarks:
        if remark.severity != "note":
            follows_error = _is_error(remark)
        if not follows_error:
            kept.append(remark)
    return kept


def _is_error(remark: Remark) -> bool:
    return remark.severity == "error" and not remark.code
