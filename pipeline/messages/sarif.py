"""Writes remarks as SARIF 2.1.0, which code hosts show beside the lines they are about."""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from hloverlap.passes.remark import Remark, file_name

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"note": "note", "remark": "note", "warning": "warning", "error": "error"}
_NO_CODE = "MLIR"  # what MLIR itself says has no code


def log(
    tool: str,
    remarks: Iterable[tuple[Remark, str]],
    meanings: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> str:
    """Writes one log with one run, as text.

    tool: the command. remarks: each with the name of its input. meanings: a sentence for each code, where there is one.
    properties: of the run.
    """
    results = [_result(remark, name) for remark, name in remarks]
    rules = [_rule(code, meanings or {}) for code in sorted({result["ruleId"] for result in results})]
    driver = {"name": tool, "version": importlib.metadata.version("hloverlap"), "rules": rules}
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    if properties:
        run["properties"] = dict(properties)
    return json.dumps({"version": "2.1.0", "$schema": _SCHEMA, "runs": [run]}, indent=1)


def _rule(code: str, meanings: Mapping[str, str]) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": meanings[code]}} if code in meanings else {"id": code}


def _result(remark: Remark, name: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file_name(remark.file, name))}}
    if remark.line:
        place["region"] = {"startLine": remark.line}
    return {
        "ruleId": remark.code or _NO_CODE,
        "level": _LEVELS[remark.severity],
        "message": {"text": remark.headline},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """Writes a path as SARIF wants it: relative to the repository where it is relative, else a file URI."""
    path = pathlib.PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
