"""Constants whose elements were left out when the module was printed: the module can be rewritten, but not run."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.locations import source_of


def describe_elided(root: ir.Operation) -> str:
    """A sentence about the first constant inside `root` that was elided, with what to do; "" where all are whole.

    MLIR reads ``dense_resource<__elided__>`` without a word, and whatever asks for its elements reads foreign memory.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stablehlo.constant":
            value = op.attributes["value"]
            if not isinstance(value, ir.DenseElementsAttr) and "<__elided__>" in str(value):
                found.append(op)
                return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    if not found:
        return ""
    file, line = source_of(found[0].location)
    where = f"of line {line} " if file == "-" else f"of {file}:{line} " if line else ""
    return f"the constant {where}was elided when the module was printed; print the module with its constants whole"
