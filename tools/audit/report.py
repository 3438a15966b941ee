"""Writes an audit as text, JSON or SARIF."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import Any

from hloverlap.pipeline.audit.audits import Audit, Comparison, Setting, Trial
from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.audit.verdict import METRICS
from hloverlap.pipeline.prediction.prediction import Prediction


def render(found: Audit | Comparison, trials: Sequence[Trial], setting: Setting, form: str) -> str:
    """Writes the report in one of the formats ``text``, ``json``, ``sarif``."""
    if form == "json":
        return _json(found, trials, setting)
    if form == "sarif":
        from hloverlap.tools.audit import sarif

        return sarif.render(found)
    from hloverlap.tools.audit import text

    return text.render(found, trials, setting, decorated=sys.stdout.isatty())


def _json(found: Audit | Comparison, trials: Sequence[Trial], setting: Setting) -> str:
    import json

    import jaxlib.version

    report: dict[str, Any] = {"target": setting.target.name, "jaxlib": jaxlib.version.__version__}
    if isinstance(found, Comparison):
        report |= dataclasses.asdict(found.verdict) | {"verdict": found.verdict.word}
        del report["word"]
        report |= {"before": _audit(found.before), "after": _audit(found.after)}
    else:
        report["module"] = _audit(found)
    if trials:
        report["trials"] = [{**dataclasses.asdict(trial), "totals": _totals(trial.totals)} for trial in trials]
    return json.dumps(report, indent=2)


def _audit(audit: Audit) -> dict[str, Any]:
    outcome = audit.outcome
    launches = outcome.launches if isinstance(outcome, Program) else ()
    return {
        "name": audit.name,
        "label": audit.label,
        "topology": audit.topology,
        "options": dict(audit.options),
        "totals": _totals(audit.totals),
        "collectives": [dataclasses.asdict(op) for op in audit.collectives],
        "launches": [dataclasses.asdict(each) for each in launches],
        "prediction": _prediction(audit.prediction),
        "failure": None if isinstance(outcome, Program) else dataclasses.asdict(outcome),
        "findings": [dataclasses.asdict(finding) for finding in audit.findings],
        "hints": [dataclasses.asdict(hint) | {"options": dict(hint.options)} for hint in audit.hints],
    }


def _prediction(found: Prediction | None) -> dict[str, Any] | None:
    """Gives microseconds of one run, where they go, and the chain of ops that they hang on."""
    if found is None:
        return None
    path = [{**dataclasses.asdict(doing), "time": time} for doing, time in found.critical_path().items()]
    spent = dataclasses.asdict(found.spent)
    return {"time": found.time, **spent, "critical_path": path, "borrowed": list(found.borrowed)}


def _totals(totals: Any) -> dict[str, int]:
    return {name: getattr(totals, name) for name in METRICS}
