"""Remarks as SARIF 2.1.0, which code hosts show beside the lines they are about."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from hloverlap.passes.context import Remark

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"remark": "note", "warning": "warning", "error": "error"}
_NO_CODE = "MLIR"  # what MLIR itself says has no code


def log(remarks: Iterable[tuple[Remark, str]], version: str) -> str:
    """One log with one run, as text. remarks: each with the name of its input; version: of the tool."""
    import json

    results = [_result(remark, name) for remark, name in remarks]
    rules = [{"id": code} for code in sorted({result["ruleId"] for result in results})]
    driver = {"name": "hlo-opt", "version": version, "rules": rules}
    document = {"version": "2.1.0", "$schema": _SCHEMA, "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(document, indent=1)


def _result(remark: Remark, name: str) -> dict[str, Any]:
    file = name if remark.file in ("", "-") else remark.file
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if remark.line:
        place["region"] = {"startLine": remark.line}
    return {
        "ruleId": remark.code or _NO_CODE,
        "level": _LEVELS[remark.severity],
        "message": {"text": remark.message},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """A path as SARIF wants it: relative to the repository where it is relative, else a file URI."""
    path = pathlib.PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
