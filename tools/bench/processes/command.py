"""Measures merged transfers against the program as it is, on CPU devices of real processes joined by gloo.

    python -m hloverlap.tools.bench.processes.command    # 2 processes of 4 devices, then of 2: five minutes
    python -m hloverlap.tools.bench.processes.command --quick               # a few cases: under a minute
    python -m hloverlap.tools.bench.processes.command --layout 4x2 -o results.json

A case is some independent permutes. It runs as it is and rewritten by each strategy, the runs taking turns; results are
compared bit for bit. The table of ratios comes last.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import sys
from collections.abc import Sequence
from typing import Any

from hloverlap.pipeline.children.process_group import LaunchError, launch
from hloverlap.tools.bench.processes import report
from hloverlap.tools.bench.processes.cases import MOST_BYTES, cases
from hloverlap.tools.bench.processes.report import Measured

_WORKER = "hloverlap.tools.bench.processes.worker"
_GRACE = 120.0  # seconds for the start, and for the case in hand when time is up
DIFFERENCE = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command: 0, 1 where a process failed or nothing was measured, 2 for bad arguments, 3 for other bits."""
    given = _parse(argv)
    measured: list[Measured] = []
    left_out: list[dict[str, Any]] = []
    failure = ""
    for processes, devices in given.layout:
        layout = f"{processes}x{devices}"
        fitting = [case for case in cases(given.quick) if case.total(processes * devices) <= MOST_BYTES]
        left_out += [
            {"layout": layout, "case": dataclasses.asdict(case), "left_out": f"more than {MOST_BYTES} bytes in all"}
            for case in cases(given.quick)
            if case not in fitting
        ]
        seconds = given.seconds / len(given.layout)
        order = {"cases": [dataclasses.asdict(case) for case in fitting], "seconds": seconds}
        try:
            said = list(zip(*launch(_WORKER, order, processes, devices, seconds + _GRACE), strict=True))
        except LaunchError as error:
            failure = f"{layout}: {error}"
            break
        measured += [Measured.of(layout, each) for each in said if "samples" in each[0]]
        left_out += [{"layout": layout, **each[0]} for each in said if "left_out" in each[0]]
    if given.output:
        results = {"measured": [one.as_json() for one in measured], "left_out": left_out, "failure": failure}
        _write(given.output, results)
    _show(measured, left_out)
    if failure or not measured:
        print(f"processes: error: {failure or 'nothing was measured'}", file=sys.stderr)
        return 1
    return 0 if all(all(one.equal.values()) for one in measured) else DIFFERENCE


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="processes", description="Measure merged transfers over real processes joined by gloo."
    )
    parser.add_argument(
        "--layout",
        type=_layout,
        action="append",
        metavar="PxD",
        help="P processes of D devices; may be given several times (default: 2x4 and 2x2)",
    )
    parser.add_argument("--quick", action="store_true", help="a few cases only")
    parser.add_argument("--seconds", type=float, default=300.0, help="about how long to measure in all (default: 300)")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE", help="write all samples here as JSON")
    given = parser.parse_args(argv)
    given.layout = given.layout or [(2, 4), (2, 2)]
    return given


def _layout(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if match is None or int(match[1]) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not PROCESSESxDEVICES with two processes or more, such as 2x4")
    return int(match[1]), int(match[2])


def _write(path: pathlib.Path, results: dict[str, Any]) -> None:
    """Writes the results, whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    partial.replace(path)


def _show(measured: Sequence[Measured], left_out: Sequence[dict[str, Any]]) -> None:
    for one in left_out:
        case = one["case"]
        size = report.size_text(case["bytes"])
        print(
            f"left out: {one['layout']}, {case['pairs']}, {case['dtypes']}, {case['count']} permutes of {size}: "
            f"{one['left_out']}"
        )
    if measured:
        print(report.verdict(measured))
        print(report.table(measured))


if __name__ == "__main__":
    sys.exit(main())
