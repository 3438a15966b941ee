"""One message, whoever has it to say, as text, JSON and SARIF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hloverlap.passes.remark import Remark
from hloverlap.pipeline.audit import findings
from hloverlap.pipeline.audit.findings import Finding
from hloverlap.pipeline.messages import remarks, sarif

SEVERITIES = ["error", "warning", "remark", "note"]
SAID = [
    Remark("ACS001", "remark", "done", "stablehlo.add", "a model.py", 7),
    Remark("", "warning", "MLIR's\n%0 = ir", file="-", line=3),
    Finding("HLA001", "error", "an audit's", ids=(1,), options=(("xla_option", 0),)),
]


def test_text_is_what_editors_take() -> None:
    assert [remarks.as_text(each, "in.mlir") for each in SAID] == [
        "a model.py:7: remark: ACS001: done",
        "in.mlir:3: warning: MLIR's",
        "in.mlir: error: HLA001: an audit's",
    ]


def test_json_has_the_fields_of_a_remark() -> None:
    assert [json.loads(remarks.as_json(each, "in.mlir"))["file"] for each in SAID] == [
        "a model.py",
        "in.mlir",
        "in.mlir",
    ]
    assert json.loads(remarks.as_json(SAID[1], "in.mlir"))["message"] == "MLIR's"
    keys = [list(json.loads(remarks.as_json(each, ""))) for each in SAID]
    assert keys == [["code", "severity", "message", "op", "file", "line"]] * 3


def _places(log: str) -> list[dict[str, Any]]:
    (run,) = json.loads(log)["runs"]
    return [result["locations"][0]["physicalLocation"] for result in run["results"]]


@pytest.mark.parametrize("tool", ["hlo-opt", "hlo-audit"])
def test_every_uri_is_quoted(tool: str) -> None:
    files = {
        "a model.py": "a%20model.py",
        "/a b/c#d.py": "file:///a%20b/c%23d.py",
        "50%.py": "50%25.py",
        "-": "the%20input",
    }
    said = [(Finding("HLA003", "note", "said", file=file, line=1), "the input") for file in files]
    uris = [place["artifactLocation"]["uri"] for place in _places(sarif.log(tool, said))]
    assert uris == list(files.values())


def test_sarif_has_a_level_for_each_severity_and_a_rule_for_each_code() -> None:
    said = [(Remark(f"C{n}", severity, "said"), "in") for n, severity in enumerate(SEVERITIES)]
    (run,) = json.loads(sarif.log("hlo-opt", said, {"C1": "a meaning"}, {"verdict": "same"}))["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note", "note"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["C0", "C1", "C2", "C3"]
    assert run["tool"]["driver"]["rules"][1]["shortDescription"] == {"text": "a meaning"}
    assert run["properties"] == {"verdict": "same"}


def test_a_finding_is_at_its_first_collective() -> None:
    from hloverlap.pipeline.audit.op_ids import CollectiveOp

    ops = [CollectiveOp(n, "collective_permute", 4, (), None, None, "f.py", 10 + n, "main") for n in range(3)]
    found = findings.located(Finding("HLA102", "note", "said", ids=(2, 1)), ops)
    assert (found.op, found.file, found.line) == ("stablehlo.collective_permute", "f.py", 11)
    nowhere = Finding("HLA102", "note", "said")
    assert findings.located(nowhere, ops) == nowhere


def test_equal_words_at_many_places_are_one_line_where_the_first_stood() -> None:
    def said(line: int, words: str) -> Remark:
        return Remark("ABC001", "remark", words, file="f.py", line=line)

    few = [said(line, "Left.") for line in range(remarks.EACH_PLACE)] + [said(9, "Other.")]
    assert remarks.as_lines(few, "m") == [remarks.as_text(each, "m") for each in few]
    many = [said(1, "Other."), *(said(line, "Left.") for line in (3, 4, 5, 6, 7, 7)), said(2, "Other.")]
    assert remarks.as_lines(many, "m") == [
        "f.py:1: remark: ABC001: Other.",
        "f.py:3: remark: ABC001: Left. (6 times, at 5 places; --remarks=all shows each)",
        "f.py:2: remark: ABC001: Other.",
    ]
