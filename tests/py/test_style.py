"""The sources are typed, linted and formatted, as pyproject.toml configures the tools; planted bugs have a place."""

from __future__ import annotations

import os
import pathlib
import runpy
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def _run(*arguments: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_nothing(tmp_path: pathlib.Path) -> None:
    _run("mypy", "--cache-dir", str(tmp_path / "cache"), "-p", "hloverlap")


def test_ruff_finds_nothing() -> None:
    _run("ruff", "check", "--no-cache", ".")


def test_everything_is_formatted() -> None:
    _run("ruff", "format", "--no-cache", "--check", ".")


def test_every_planted_bug_has_its_place() -> None:
    planted = runpy.run_path(str(REPOSITORY / "tests" / "mutation" / "planted.py"))["PLANTED"]
    found = {bug.old: (REPOSITORY / bug.file).read_text(encoding="utf-8").count(bug.old) for bug in planted}
    assert set(found.values()) == {1}, {old: count for old, count in found.items() if count != 1}
