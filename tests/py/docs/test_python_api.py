"""The examples of docs/python-api.md run from top to bottom, in one process, and name all that is public."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import hloverlap

ROOT = pathlib.Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path: pathlib.Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) > 8
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "did you mean 'overlap'?" in done.stdout


def test_every_function_and_every_error_is_on_the_page() -> None:
    named = set(re.findall(r"\w+", PAGE))
    public = [name for name in dir(hloverlap) if name[0].islower() or name.endswith("Error")]
    assert [name for name in public if name not in named] == []
