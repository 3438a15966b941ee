"""Writes remarks and statistics as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hloverlap.passes.base import Pass
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.remark import Remark, file_name

EACH_PLACE = 4  # at so many places, equal words are still a line each: that many can be read at once
_RULE = f"==={'-' * 73}==="


def as_text(remark: Remark, name: str) -> str:
    """Writes ``file:line: remark: CODE: message``; `name` is what the input is called."""
    code = f"{remark.code}: " if remark.code else ""  # MLIR's own have none
    return f"{remark.place(name)}: {remark.severity}: {code}{remark.headline}"


def as_lines(found: Iterable[Remark], name: str) -> list[str]:
    """Writes remarks as text, in the order of the first of those that are alike.

    What was said several times of one place is one line with the count. What was said of more than EACH_PLACE places
    in the same words is one line, too, with the first of the places and their number.
    """
    found = list(found)
    places: dict[Remark, dict[str, None]] = {}
    for remark in found:
        places.setdefault(_words(remark), {})[as_text(remark, name)] = None
    crowded = {words: next(iter(texts)) for words, texts in places.items() if len(texts) > EACH_PLACE}
    counts = Counter(crowded.get(_words(remark)) or as_text(remark, name) for remark in found)
    numbers = {first: len(places[words]) for words, first in crowded.items()}
    return [
        f"{text} ({count} times, at {numbers[text]} places; --remarks=all shows each)"
        if text in numbers
        else f"{text} ({count} times)"
        if count > 1
        else text
        for text, count in counts.items()
    ]


def _words(remark: Remark) -> Remark:
    """Gives what is said without where."""
    return replace(remark, file="", line=0, op="")


def as_json(remark: Remark, name: str) -> str:
    """Writes one JSON object on one line: code, severity, message, op, file, line (0 when unknown)."""
    import json

    return json.dumps(
        {
            "code": remark.code,
            "severity": remark.severity,
            "message": remark.headline,
            "op": remark.op,
            "file": file_name(remark.file, name),
            "line": remark.line,
        }
    )


def statistics_report(passes: Iterable[Pass], statistics: Mapping[str, Mapping[str, int]]) -> str:
    """Writes the counts of each pass that ran, in the shape of MLIR's report; a pass that ran twice has one sum.

    MLIR's own passes are not in it: jaxlib is built without their counters.
    """
    lines = [_RULE, f"{'... Pass statistics report ...':^80}".rstrip(), _RULE]
    for step in dict.fromkeys(type(each) for each in passes):
        lines.append(step.name)
        counts = statistics.get(step.name, {})
        width = max((len(name) for name in step.statistics), default=0)
        for name, meaning in step.statistics.items():
            lines.append(f"  (S) {counts.get(name, 0):>6} {name:<{width}} - {meaning}")
    return "\n".join(lines)


def xla_flags(compile_options: Mapping[str, CompileOption]) -> str:
    """Writes the options as the value of XLA_FLAGS; "" for none."""
    return " ".join(
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in compile_options.items()
    )
