"""Plants bugs in copies of the package, one at a time, and counts those that the tests of the passes catch.

    python tests/mutation                        the planted bugs: at least one a pass, all must be caught
    python tests/mutation --random=3 --seed=1    and three random changes in each file of passes/
    python tests/mutation --only=packing         those of files or functions with this in their name
    python tests/mutation --list                 where they are; nothing is run

Prints one line a bug and the score. Exits with 1 when a planted bug goes unnoticed or has lost its place.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import operators
import places
from planted import PLANTED

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Analyses that verify-collectives alone asks.
ONLY_FOR_CHECKS = ("agreement", "agreement_flow", "device_values", "divergence", "function_values")
UNITS = REPOSITORY / "tests" / "py" / "passes"
TIME_LIMIT = 1800.0  # seconds for the tests of one bug; a hang is caught, too


def main() -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random changes in each file")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files or functions with this in their name")
    parser.add_argument("--list", action="store_true", help="say where the planted bugs are, and run nothing")
    given = parser.parse_args()
    bugs, lost = _planted(given.only)
    if given.list:
        print(*(f"{file}: {why}" for file, _, why, _ in bugs), sep="\n")
        return 1 if lost else 0
    generator = random.Random(given.seed)
    for path in sorted((REPOSITORY / "passes").rglob("*.py")) if given.random else []:
        name = str(path.relative_to(REPOSITORY))
        made = operators.mutants(path.read_text(encoding="utf-8"), generator, given.random)
        bugs += [(name, source, what, False) for source, what in made if given.only in name]
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        if caught := _caught_by(pathlib.Path(folder), "passes/__init__.py", None):
            print(f"without any bug, {caught} fails: nothing can be said")
            return 2
        counts = {True: [0, 0], False: [0, 0]}
        for file, source, why, is_planted in bugs:
            began = time.monotonic()
            caught = _caught_by(pathlib.Path(folder), file, source)
            counts[is_planted][0] += bool(caught)
            counts[is_planted][1] += 1
            how = f"caught by {caught}" if caught else "NOT CAUGHT"
            print(f"{file}: {why}: {how} ({time.monotonic() - began:.0f} s)", flush=True)
    for is_planted, (number, total) in counts.items():
        if total:
            print(f"{'planted' if is_planted else 'random'}: {number} of {total} caught, {number / total:.0%}")
    return 0 if counts[True][0] == counts[True][1] and not lost else 1


def _planted(only: str) -> tuple[list[tuple[str, str, str, bool]], int]:
    """The planted bugs, and how many have lost their place, which is said."""
    bugs, lost = [], 0
    for bug in PLANTED:
        try:
            file, source = places.plant(bug, REPOSITORY)
        except places.LostError as error:
            lost += 1
            print(f"LOST: {bug.why}: {error}", flush=True)
            continue
        if only in file or only in bug.function:
            bugs.append((file, source, f"{bug.function}: {bug.why}", True))
    return bugs, lost


def _caught_by(folder: pathlib.Path, file: str, source: str | None) -> str:
    """What fails when `file` holds `source` instead; "" for nothing."""
    package = folder / "hloverlap"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(REPOSITORY / "hloverlap", package, ignore=shutil.ignore_patterns("__pycache__"))
    if source is not None:
        (package / file).write_text(source, encoding="utf-8")
    # A safe path: else the package in the folder that the tests run in comes before the copy.
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    found = [sys.executable, "-c", "import hloverlap.passes; print(hloverlap.passes.__file__)"]
    where = subprocess.run(found, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=True).stdout
    if not where.startswith(str(folder)):
        raise SystemExit(f"the tests would run {where.strip()}, and not the copy with the bug")
    for name, command in _suite(folder, file):
        try:
            done = subprocess.run(
                command, cwd=REPOSITORY, env=environment, capture_output=True, timeout=TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return f"{name}, which hangs"
        if done.returncode:
            return name
    return ""


def _suite(folder: pathlib.Path, file: str) -> list[tuple[str, list[str]]]:
    """The tests of the passes, those most likely to see a bug in `file` first."""
    pytest = [sys.executable, "-m", "pytest", "-x", "-o", f"cache_dir={folder / 'cache'}"]
    lit = [str(pathlib.Path(sys.executable).parent / "lit"), "-q", "--param", f"package={folder}"]
    stem = (
        "verify_collectives"
        if "_checks" in file or pathlib.Path(file).stem in ONLY_FOR_CHECKS
        else pathlib.Path(file).stem
    )
    own = REPOSITORY / "tests" / "lit" / stem.replace("_", "-")
    units = [path for path in ("test_promises", f"test_{stem}") if (UNITS / f"{path}.py").exists()]
    steps = [("lit of the pass", [*lit, str(own)])] if own.is_dir() else []
    steps += [
        ("unit tests", [*pytest, *(f"tests/py/passes/{path}.py" for path in units)]),
        ("random modules", [*pytest, "tests/py/properties", "--examples=60", "--no-shrink"]),
    ]
    others = [path for path in sorted((REPOSITORY / "tests" / "lit").iterdir()) if path.is_dir() and path != own]
    passes = [str(path) for path in others if (REPOSITORY / "passes" / f"{path.name.replace('-', '_')}.py").exists()]
    return [*steps, ("lit of all passes", [*lit, *passes])]


if __name__ == "__main__":
    sys.exit(main())
