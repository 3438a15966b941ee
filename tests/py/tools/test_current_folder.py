"""In a folder that holds Python files of its own, every command does what it does elsewhere.

Python itself looks into the current folder first in ``python -m`` and ``python -c``; the processes that the commands
start must not.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from support.small_modules import BACKWARD, FORWARD, function, module, permute

NAMES = ("json", "numpy", "jax", "jaxlib", "hloverlap", "runpy", "ctypes", "tempfile", "subprocess", "dataclasses")
RINGS = module(function("main", 1, [permute("%0", "%a0", FORWARD), permute("%1", "%a0", BACKWARD)], ["%0", "%1"]))
COMMANDS = pathlib.Path(sys.executable).parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "JAX_", "PYTHON"))}


@pytest.fixture
def folders(tmp_path: pathlib.Path) -> list[pathlib.Path]:
    """An ordinary folder and one with the names of libraries, each with the same module."""
    made = [tmp_path / "ordinary", tmp_path / "hostile"]
    for folder in made:
        folder.mkdir()
        (folder / "rings.mlir").write_text(RINGS)
    for number, name in enumerate(NAMES):
        path = made[1] / (f"{name}.py" if number % 2 else f"{name}/__init__.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"raise RuntimeError('{name} of the current folder was imported')\n")
    return made


def run(folder: pathlib.Path, command: str, *arguments: str) -> tuple[int, str, str]:
    """Runs a command in a folder, with a cache there; gives its exit status, stdout and stderr."""
    done = subprocess.run(
        [str(COMMANDS / command), *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=ENVIRONMENT | {"HLOVERLAP_CACHE": str(folder.parent / "cache")},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("way", ["cpu", "interpreter", "processes"])
def test_a_check_is_the_same(folders: list[pathlib.Path], way: str) -> None:
    arguments = ("rings.mlir", "--overlap", "--topology=2x2", f"--check={way}")
    ordinary, hostile = (run(folder, "hlo-opt", *arguments) for folder in folders)
    assert hostile == ordinary
    assert ordinary[0] == 0
    assert "check: equal" in ordinary[2]


def test_hlo_is_read_and_written(folders: list[pathlib.Path]) -> None:
    for folder in folders:
        assert run(folder, "hlo-opt", "rings.mlir", "--emit=hlo", "-o", "rings.hlo") == (0, "", "")
    ordinary, hostile = (run(folder, "hlo-opt", "rings.hlo") for folder in folders)
    assert hostile == ordinary
    assert ordinary[0] == 0
    assert "stablehlo.collective_permute" in ordinary[1]


@pytest.mark.parametrize("target", ["cpu", "h200"])
def test_an_audit_is_the_same_and_nothing_false_is_kept(folders: list[pathlib.Path], target: str) -> None:
    arguments = ("rings.mlir", f"--target={target}")
    hostile, ordinary = (run(folder, "hlo-audit", *arguments) for folder in reversed(folders))
    fresh = run(folders[0], "hlo-audit", *arguments, "--no-cache")
    assert hostile == ordinary == fresh
    assert "RuntimeError" not in hostile[1] + hostile[2]


def test_a_program_from_elsewhere_runs(folders: list[pathlib.Path], tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import jax, json; print(json.dumps(jax.jit(lambda x: 2 * x)(3).item()))")
    arguments = ("--pass-pipeline=canonicalize,overlap", str(program))
    ordinary, hostile = (run(folder, "hlo-run", *arguments) for folder in folders)
    assert hostile[:2] == ordinary[:2] == (0, "6\n")
    assert run(folders[1], "hlo-run", "--pass-pipeline=cesse", str(program))[2].startswith(
        "hlo-run: error: unknown pass 'cesse'"
    )


def test_calibration_runs(folders: list[pathlib.Path]) -> None:
    status, _, stderr = run(folders[1], "hlo-calibrate", "--devices=2", "-o", "here.json")
    assert (status, stderr) == (0, "")
    assert (folders[1] / "here.json").exists()
