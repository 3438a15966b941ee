"""What MLIR says, as remarks."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir import diagnostics
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.remark import Remark

BROKEN = """\
func.func @f() -> i32 {
  return
}
"""


def test_the_note_that_mlir_adds_to_every_error_is_left_out() -> None:
    found: list[Remark] = []
    context = make_context()
    with diagnostics.collected(context, found), pytest.raises(ir.MLIRError):
        ir.Module.parse(BROKEN, context)
    assert [(each.code, each.severity, each.file, each.line) for each in found] == [("", "error", "-", 2)]
    assert "operand" in found[0].message


def test_errors_go_with_their_notes_and_all_else_stays() -> None:
    warning, note, error = (Remark("", severity, severity) for severity in ("warning", "note", "error"))
    ours = Remark("VCL001", "error", "ours")
    said = [warning, note, error, note, note, ours, note, error, warning]
    assert diagnostics.without_errors(said) == [warning, note, ours, note, warning]
    assert diagnostics.first_error([ours, warning, error]) == error
    assert diagnostics.first_error([ours, warning]) is None
