"""Plants bugs in copies of the package, one at a time, and counts those that the tests of the passes catch.

    python tests/mutation                        the planted bugs: at least one a pass, all must be caught
    python tests/mutation --random=3 --seed=1    and three random changes in each file of passes/
    python tests/mutation --only=packing         those of files with this in their name

Prints one line a bug and the score. Exits with 1 when a planted bug goes unnoticed.
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
from planted import PLANTED

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
UNITS = REPOSITORY / "tests" / "py" / "passes"
PACKAGES = ("passes", "pipeline", "tools")
TIME_LIMIT = 1800.0  # seconds for the tests of one bug; a hang is caught, too


def main() -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random changes in each file")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", metavar="TEXT", help="only files with this in their name")
    given = parser.parse_args()
    bugs = [
        (bug.file, _planted(bug.file, bug.old, bug.new), bug.why, True) for bug in PLANTED if given.only in bug.file
    ]
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
    return 0 if counts[True][0] == counts[True][1] else 1


def _planted(file: str, old: str, new: str) -> str:
    source = (REPOSITORY / file).read_text(encoding="utf-8")
    if source.count(old) != 1:
        raise SystemExit(f"{file}: the text to change is there {source.count(old)} times and not once: {old}")
    return source.replace(old, new)


def _caught_by(folder: pathlib.Path, file: str, source: str | None) -> str:
    """What fails when `file` holds `source` instead; "" for nothing."""
    package = folder / "hloverlap"
    for name in PACKAGES:
        shutil.rmtree(package / name, ignore_errors=True)
        shutil.copytree(REPOSITORY / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    if source is not None:
        (package / file).write_text(source, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
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
    stem = "verify_collectives" if "_checks" in file or "divergence" in file else pathlib.Path(file).stem
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
