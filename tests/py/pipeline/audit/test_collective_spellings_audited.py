"""Replica groups as lists and as axes of a mesh are the same to the audit."""

from __future__ import annotations

import jaxlib.version
import pytest
from jaxlib.mlir import ir

from hloverlap.passes.machine import targets
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.audit import audits
from hloverlap.pipeline.audit.audits import Setting, Subject
from support.collective_spellings import KINDS, SPELLINGS, module

H200 = Setting(targets.find("h200"))
NAMES_MESHES = jaxlib.version.__version_info__ >= (0, 12)


@pytest.mark.usefixtures("xla_gpu")
@pytest.mark.parametrize("kind", KINDS)
def test_the_audit_sees_the_same_launches(kind: str) -> None:
    # XLA:GPU of jaxlib 0.10.2 refuses a mesh that has a name: it looks for it where it is not.
    groups_by = "x" if NAMES_MESHES else "inline mesh"
    one, other = (
        audits.audit_one(
            Subject(ir.Module.parse(module(kind, groups), make_context()), "a module"), Setting(targets.find("h200"))
        )
        for groups in SPELLINGS[groups_by]
    )
    assert one.totals == other.totals
    assert one.totals.launches > 0
    assert one.findings == other.findings
