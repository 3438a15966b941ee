"""Leads from an op's MLIR location to the line a person can open."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.symbols import CALL


def source_of(location: ir.Location) -> tuple[str, int]:
    """Gives the file and line an op came from: the innermost frame of JAX's call stack, or ("", 0).

    A module parsed from text without debug information gives file "-" and the line of that text.
    """
    while True:
        match location:
            case ir.FileLineColLoc():
                return str(location.filename), location.start_line
            case ir.NameLoc():
                location = location.child_loc
            case ir.CallSiteLoc():
                location = location.callee
            case ir.FusedLoc():
                found = [source_of(part) for part in location.locations]
                return next((source for source in found if source[0]), ("", 0))
            case _:
                return "", 0


def describe(op: ir.Operation, remarked: ir.Operation | None) -> str:
    """Names an op as a remark does: what it is and where it was written.

    remarked: the op that the remark is about; None where it is about several. Where both are alike and of one line, as
    in a function that is called twice, the line would name the wrong one.
    """
    kind = _kind(op)
    file, line = source_of(op.location)
    if remarked is not None and line and (_kind(remarked), source_of(remarked.location)) == (kind, (file, line)):
        return f"another {kind} of this line"
    where = f"line {line}" if file == "-" else f"{file}:{line}"
    return f"the {kind} of {where}" if line else f"another {kind}"


def _kind(op: ir.Operation) -> str:
    is_group = op.name == CALL and frontend_attributes.GROUP in frontend_attributes.read(op)
    return "group" if is_group else op.name.rpartition(".")[2]
