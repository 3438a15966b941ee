"""An audit's findings and hints as SARIF 2.1.0, for code hosts."""

from __future__ import annotations

import importlib.metadata
import json
from typing import Any

from hloverlap.pipeline.audit import Audit, Comparison
from hloverlap.pipeline.audit.findings import CODES


def render(found: Audit | Comparison) -> str:
    """One run; of a comparison the findings of the second module, and the verdict where it is not ``better``."""
    last = found.after if isinstance(found, Comparison) else found
    results = [_result(each.code, each.severity, each.message, each.file, each.line, last) for each in last.findings]
    for hint in last.hints:
        place = next((op for op in last.collectives if op.id in hint.ids), None)
        file, line = (place.file, place.line) if place else ("", 0)
        results.append(_result(hint.code, "note", hint.message, file, line, last))
    used = sorted({result["ruleId"] for result in results})
    driver = {
        "name": "hlo-audit",
        "version": importlib.metadata.version("hloverlap"),
        "rules": [{"id": code, "shortDescription": {"text": CODES[code]}} for code in used],
    }
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if isinstance(found, Comparison):
        run["properties"] = {"verdict": found.verdict.word, "reason": found.verdict.reason}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(code: str, severity: str, message: str, file: str, line: int, audit: Audit) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": audit.name if file in ("", "-") else file}}
    if line:
        location["region"] = {"startLine": line}
    return {
        "ruleId": code,
        "level": severity,
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }
