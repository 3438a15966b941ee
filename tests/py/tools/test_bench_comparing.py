"""Predicted times held against measured ones."""

from __future__ import annotations

import json
import pathlib

import pytest

from hloverlap.tools.bench.gpu import comparing
from hloverlap.tools.bench.gpu.command import main

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]

REPORT = """
| program | plain    |  IQR | limit | streams | peer |
| ------- | -------: | ---: | ----: | ------: | ---: |
| ring    | 2.000 ms | 1.0% |  2.00 |       = | 0.50! |
| halo    | 1.000 ms | 1.0% |  1.00 |    1.25 |    - |

| program | variant |
"""

RESULTS = {
    "compiled": {
        "2": {
            "cases": [
                {
                    "name": "ring",
                    "variants": {
                        "plain": {"predicted": {"microseconds": 1000.0}},
                        "limit": {"predicted": {"microseconds": 550.0}},
                        "peer": {"predicted": {"microseconds": 900.0}},
                        "streams": {"predicted": {"microseconds": 7.0}, "same_as": "plain"},
                        "groups": {"predicted": None},
                    },
                },
                {"name": "unmeasured", "variants": {"plain": {"predicted": {"microseconds": 1.0}}}},
            ]
        }
    }
}


def test_a_report_is_read_as_it_is_written() -> None:
    assert comparing.measured(REPORT) == {
        "ring": {"plain": 2000, "limit": 1000, "peer": 4000},
        "halo": {"plain": 1000, "limit": 1000, "streams": 800},
    }
    with pytest.raises(ValueError, match="no table of speed-ups"):
        comparing.measured("# nothing")


def test_the_programs_that_were_measured_can_be_read() -> None:
    found = comparing.measured((REPOSITORY / "docs" / "measurements.md").read_text(encoding="utf-8"))
    assert len(found) == 51
    assert found["opposite/64MiB"]["streams"] == pytest.approx(4032 / 1.51)


def test_ratios_of_two_variants_are_compared() -> None:
    """Of three pairs, limit and plain are 0.5 and 0.55, peer and plain 2 and 0.9, limit and peer 0.25 and 0.61."""
    found = comparing.figures(comparing.measured(REPORT), comparing.predicted(RESULTS, 2))
    assert (found.pairs, found.different) == (3, 3)
    assert found.median == pytest.approx(0.55, abs=0.01)
    assert found.named == pytest.approx(2 / 3)


def test_the_command_writes_both_tables(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results.json"
    real = REPORT.replace("halo", "unmeasured")
    both = RESULTS["compiled"]["2"]["cases"]
    both[1]["variants"] |= {"limit": {"predicted": {"microseconds": 2.0}}}  # type: ignore[operator]
    results.write_text(json.dumps(RESULTS))
    (tmp_path / "report.md").write_text(real)
    assert main(["compare", str(tmp_path / "report.md"), str(results)]) == 0
    text = capsys.readouterr().out
    assert "| ring " in text
    assert "1000 us" in text
    assert main(["compare", str(tmp_path / "report.md"), str(tmp_path / "absent.json")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
