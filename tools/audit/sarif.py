"""Writes an audit's findings and hints as SARIF, for code hosts."""

from __future__ import annotations

from hloverlap.pipeline.audit.audits import Audit, Comparison
from hloverlap.pipeline.audit.findings import CODES
from hloverlap.pipeline.messages import sarif


def render(found: Audit | Comparison) -> str:
    """Writes one run; of a comparison the findings of the second module, and the verdict."""
    last = found.after if isinstance(found, Comparison) else found
    said = [(each, last.name) for each in (*last.findings, *last.hints)]
    verdict = {"verdict": found.verdict.word, "reason": found.verdict.reason} if isinstance(found, Comparison) else None
    return sarif.log("hlo-audit", said, CODES, verdict)
