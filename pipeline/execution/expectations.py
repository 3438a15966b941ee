"""Compares diagnostics with those that comments expect, as mlir-opt's --verify-diagnostics does.

    // expected-remark@+1 {{stream 3}}
    // expected-error-re@below {{found {{[0-9]+}} results}}

The text in braces is part of the message; with ``-re`` the inner braces hold regular expressions. Every diagnostic must
be expected and every expectation met. A diagnostic about another file, such as the JAX source that the module names,
has no line here and is expected by ``@unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hloverlap.passes.remark import Remark

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<re>-re)?[ \t]*"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))?[ \t]*\{\{(?P<text>.*)\}\}\s*$"
)
_NEARLY = re.compile(r"//.*expected-(error|note|remark|warning)")


@dataclass(frozen=True)
class Expectation:
    """One designator."""

    severity: str
    pattern: re.Pattern[str]
    text: str
    line: int
    """Where the diagnostic must be, 0 for nowhere."""
    written: int
    """The designator's own line."""

    def meets(self, remark: Remark) -> bool:
        """Says whether this is the diagnostic meant; the code of a remark counts as the beginning of its message."""
        here = remark.line if remark.file == "-" else 0
        return (self.severity, self.line) == (remark.severity, here) and bool(self.pattern.search(_said(remark)))


def parse(text: str) -> list[Expectation]:
    """Reads the designators in `text`. Raises ValueError for a bad regular expression or a designator without text."""
    lines = text.split("\n")
    designators = {number for number, line in enumerate(lines, 1) if _EXPECTED.search(line)}
    found = []
    for number, line in enumerate(lines, 1):
        match = _EXPECTED.search(line)
        if match is None:
            if _NEARLY.search(line):
                raise ValueError(f"line {number}: an expectation is written 'expected-error@+1 {{{{text}}}}'")
            continue
        where = match["where"] or "+0"
        if where == "unknown":
            target = 0
        elif where in ("above", "below"):
            step = 1 if where == "below" else -1
            target = number + step
            while target in designators:
                target += step
        else:
            target = number + int(where)
        try:
            pattern = _with_regexes(match["text"]) if match["re"] else re.compile(re.escape(match["text"]))
        except re.error as error:
            raise ValueError(f"line {number}: bad regular expression: {error}") from None
        found.append(Expectation(match["severity"], pattern, match["text"], target, number))
    return found


def failures(expected: Iterable[Expectation], produced: Iterable[Remark], name: str) -> list[str]:
    """Lists what does not agree, one sentence each, as ``name:line: error: ...``; empty when all do."""
    open_ones = list(expected)
    wrong = []
    for remark in produced:
        met = next((each for each in open_ones if each.meets(remark)), None)
        if met is not None:
            open_ones.remove(met)
        else:
            headline = _said(remark).split("\n", 1)[0]
            wrong.append(f"{remark.place(name)}: error: unexpected {remark.severity}: {headline}")
    wrong += [
        f'{name}:{each.written}: error: expected {each.severity} "{each.text}" was not produced' for each in open_ones
    ]
    return wrong


def _said(remark: Remark) -> str:
    return f"{remark.code}: {remark.message}" if remark.code else remark.message.strip()


def _with_regexes(text: str) -> re.Pattern[str]:
    """Makes a pattern of literal text in which ``{{...}}`` holds regular expressions."""
    pieces = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(f"(?:{piece})" if odd % 2 else re.escape(piece) for odd, piece in enumerate(pieces)))
