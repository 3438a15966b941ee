"""Finds constants whose elements were left out when the module was printed: it can be rewritten, but not run."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.mlir.walk import ops_in


def describe_elided(root: ir.Operation) -> str:
    """Gives a sentence about the first constant inside `root` that was elided, with what to do; "" where all are whole.

    MLIR reads ``dense_resource<__elided__>`` without a word, and whatever asks for its elements reads foreign memory.
    """
    elided = (op for op in ops_in(root, "stablehlo.constant") if _is_elided(op.attributes["value"]))
    if (op := next(elided, None)) is None:
        return ""
    file, line = source_of(op.location)
    where = f"of line {line} " if file == "-" else f"of {file}:{line} " if line else ""
    return f"the constant {where}was elided when the module was printed; print the module with its constants whole"


def _is_elided(value: ir.Attribute) -> bool:
    return not isinstance(value, ir.DenseElementsAttr) and "<__elided__>" in str(value)
