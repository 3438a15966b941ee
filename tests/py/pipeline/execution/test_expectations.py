"""Expected diagnostics in comments."""

import re

import pytest

from hloverlap.passes.remark import Remark
from hloverlap.pipeline.execution import expectations
from hloverlap.pipeline.formats import splitting


def said(severity, message, file="", line=0):
    return Remark("", severity, message, file=file, line=line)


def failures(text, *produced):
    return expectations.failures(expectations.parse(text), produced, "m.mlir")


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("op // expected-remark {{it}}", 1),
        ("// expected-remark@+2 {{it}}", 3),
        ("\n\n// expected-remark@-2 {{it}}", 1),
        ("// expected-remark@below {{it}}\nop", 2),
        ("op\n// expected-remark @above {{it}}", 1),
        # Designators in a row mean the same line.
        ("// expected-remark@below {{it}}\n// expected-error@below {{b}}\nop", 3),
        ("op\n// expected-error@above {{b}}\n// expected-remark@above {{it}}", 1),
        ("// expected-remark@unknown {{it}}", 0),
    ],
)
def test_the_line_that_is_meant(comment, line):
    assert [each.line for each in expectations.parse(comment) if each.severity == "remark"] == [line]


def test_part_of_the_message_is_enough():
    assert failures("x // expected-remark {{is th}}", said("remark", "this is that", "-", 1)) == []


def test_a_regular_expression_stands_in_braces():
    text = "x // expected-remark-re {{stream {{[0-9]+}} (of 4)}}"
    assert failures(text, said("remark", "on stream 12 (of 4)", "-", 1)) == []
    assert len(failures(text, said("remark", "on stream a (of 4)", "-", 1))) == 2


def test_each_expectation_is_met_once():
    twice = [said("remark", "it", "-", 1)] * 2
    assert failures("x // expected-remark {{it}}", *twice) == ["m.mlir:1: error: unexpected remark: it"]


@pytest.mark.parametrize(
    "produced",
    [
        said("remark", "it", "-", 2),
        said("warning", "it", "-", 1),
        said("remark", "that", "-", 1),
        said("remark", "it", "train.py", 1),
    ],
    ids=["line", "severity", "message", "file"],
)
def test_line_severity_message_and_file_count(produced):
    wrong = failures("x // expected-remark {{it}}", produced)
    assert wrong[1] == 'm.mlir:1: error: expected remark "it" was not produced'
    assert re.fullmatch(r"\S+:\d: error: unexpected \w+: \w+", wrong[0])


def test_a_note_needs_an_expectation_and_only_its_first_line_is_shown():
    produced = failures("", said("note", "prior use here\n%0 = ir", "-", 1))
    assert produced == ["m.mlir:1: error: unexpected note: prior use here"]


def test_the_code_of_a_remark_begins_what_it_says():
    remark = Remark("ACS001", "remark", "done", file="-", line=1)
    assert failures("x // expected-remark {{ACS001: done}}", remark) == []
    assert failures("", remark) == ["m.mlir:1: error: unexpected remark: ACS001: done"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n// expected-remark-re {{ {{(}} }}", "line 2: bad regular expression"),
        ("// expected-remark@+1 no braces", "line 1: an expectation is written"),
    ],
)
def test_a_comment_that_cannot_be_meant_so(text, message):
    with pytest.raises(ValueError, match=message):
        expectations.parse(text)


def test_split_parts_keep_their_line_numbers():
    assert splitting.split("a\n// -----\nb\n// -----  \n\n// -----\n  c // ----- d") == [
        "a\n",
        "\n\nb\n",
        "\n\n\n\n\n\n  c // ----- d",
    ]
    assert splitting.split("") == []
