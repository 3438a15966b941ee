"""What docs/write-a-pass.md says is done to a copy of the project, to the letter, and works there."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "write-a-pass.md").read_text(encoding="utf-8")


def block(language: str, after: str) -> str:
    """Gives the first block of code of this language after a text of the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE[PAGE.index(after) :], re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The project with the page's pass in it."""
    root = tmp_path_factory.mktemp("project")
    for folder in ("passes", "pipeline", "tools", "hloverlap", "tests", "docs"):
        ignored = shutil.ignore_patterns("__pycache__", "Output", ".lit_test_times.txt")
        shutil.copytree(REPOSITORY / folder, root / folder, symlinks=True, ignore=ignored)
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / file, root / file)
    (root / "passes" / "count_permutes.py").write_text(block("python", "`passes/count_permutes.py`:"))
    registry = root / "passes" / "registry.py"
    line = block("python", "## 2. The registry")
    registry.write_text(registry.read_text().replace("BUILTIN = {\n", f"BUILTIN = {{\n{line}"))
    lit = root / "tests" / "lit" / "count-permutes"
    lit.mkdir(exist_ok=True)  # somebody may be following the page
    (lit / "count.mlir").write_text(block("mlir", "`tests/lit/count-permutes/count.mlir`:"))
    with (root / "docs" / "remarks.md").open("a") as remarks:
        remarks.write("\n" + block("markdown", "## 4. The remark's section"))
    return root


@pytest.mark.parametrize(
    "command",
    [
        ["lit", "tests/lit/count-permutes"],
        ["pytest", "-n0", "tests/py/passes/test_remark_codes.py", "tests/py/passes/test_options.py"],
        ["pytest", "-n0", "tests/py/passes/test_promises.py", "-k", "count-permutes"],
        ["pytest", "-n0", "tests/py/test_layers.py", "-k", "count_permutes or circle"],
        ["ruff", "check", "passes/count_permutes.py", "passes/registry.py"],
        ["ruff", "format", "--check", "passes/count_permutes.py", "passes/registry.py"],
    ],
    ids=" ".join,
)
def test_it_holds(copy: pathlib.Path, command: list[str]) -> None:
    program = str(pathlib.Path(sys.executable).parent / command[0])
    arguments = [*(["--param", f"package={copy}"] if command[0] == "lit" else []), *command[1:]]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [program, *arguments], cwd=copy, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
