"""Every code that a pass can say is explained in docs/remarks.md, and shown in a lit test."""

from __future__ import annotations

import pathlib
import re

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
CODES = sorted(
    {
        code
        for path in (REPOSITORY / "passes").rglob("*.py")
        for code in re.findall(r'"([A-Z]{3}\d{3})"', path.read_text(encoding="utf-8"))
    }
)


def test_there_are_codes() -> None:
    assert {"ACS001", "CPE001", "MCT001", "SSA001", "VCL001"} <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_it_is_explained(code: str) -> None:
    assert f"\n### {code}\n" in (REPOSITORY / "docs" / "remarks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", CODES)
def test_a_lit_test_shows_it(code: str) -> None:
    tests = (REPOSITORY / "tests" / "lit").rglob("*.mlir")
    assert any(code in path.read_text(encoding="utf-8") for path in tests)


def test_nothing_is_explained_that_nobody_says() -> None:
    explained = re.findall(
        r"^### (\w+)$", (REPOSITORY / "docs" / "remarks.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert set(explained) <= set(CODES)
