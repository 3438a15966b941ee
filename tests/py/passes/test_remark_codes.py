"""Every remark that a pass declares is explained in docs/remarks.md, and shown in a lit test."""

from __future__ import annotations

import pathlib
import re

import pytest

from hloverlap.passes import registry

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
EXPLAINED = (REPOSITORY / "docs" / "remarks.md").read_text(encoding="utf-8")
DECLARED = {
    name: dict(found.remarks) for name in (*registry.STEPS, *registry.BUILTIN) if (found := registry.find(name))
}
CODES = [code for codes in DECLARED.values() for code in codes]


def test_every_pass_declares_its_remarks() -> None:
    """That it makes no others is seen whenever it runs: the pass manager asks."""
    assert all(DECLARED.values())
    assert len(set(CODES)) == len(CODES), "a code belongs to one pass"


@pytest.mark.parametrize("name", DECLARED)
def test_they_are_explained_under_the_name_of_the_pass(name: str) -> None:
    section = EXPLAINED.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^### (\w+)$", section, re.MULTILINE) == list(DECLARED[name])


@pytest.mark.parametrize("code", CODES)
def test_a_lit_test_shows_it(code: str) -> None:
    tests = (REPOSITORY / "tests" / "lit").rglob("*.mlir")
    assert any(code in path.read_text(encoding="utf-8") for path in tests)


def test_nothing_is_explained_that_nobody_says() -> None:
    assert set(re.findall(r"^### (\w+)$", EXPLAINED, re.MULTILINE)) == set(CODES)
