"""Damaged files and mistyped commands: hlo-opt says one line and leaves nothing.

    pytest tests/py/pipeline/test_fuzzing.py                                a few, always the same ones
    pytest tests/py/pipeline/test_fuzzing.py --examples=20000 --seed=7      a campaign

An input that shows a mistake is left in the folder that the failure names.
"""

from __future__ import annotations

import collections
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from generation.command_worker import CommandWorker
from generation.damage import damaged, mistyped
from hloverlap.pipeline.formats import table
from hloverlap.pipeline.formats.format import Format

TIME_LIMIT = 10.0  # seconds of processor time for one input, all processes together
PATIENCE = 120.0  # seconds after which an input hangs, however busy the machine is
BASE = 320 << 20  # bytes that a process may grow by, whatever the input: XLA's libraries, and what they may waste
TIMES = 64  # and this much for each byte of the input

MISTYPED = 0.2  # share of inputs that are a wrong command for a sound file


@pytest.fixture
def worker(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[CommandWorker]:
    started = CommandWorker(tmp_path, PATIENCE, fork=request.config.getoption("--examples") > 100)
    yield started
    started.close()


def complaints(answer: dict[str, Any], size: int) -> list[str]:
    """What is wrong with how hlo-opt took an input of `size` bytes."""
    if "died" in answer:
        return [answer["died"]]
    said = answer["stderr"]
    found = []
    for word in ("Traceback", "internal error"):
        if word in said:
            found.append(word)
    if answer["status"] not in (0, 1, 2):
        found.append(f"exit status {answer['status']}")
    if answer["status"] and answer["wrote"]:
        found.append("it failed and wrote a file")
    if answer["status"] and not said.strip():
        found.append("it failed without a word")
    if answer["seconds"] > TIME_LIMIT:
        found.append(f"it took {answer['seconds']:.1f} s")
    if answer["peak"] > BASE + TIMES * size:
        found.append(f"a process grew by {answer['peak'] >> 20} MiB for {size} bytes")
    return found


def test_damaged_input(
    worker: CommandWorker, encoded: dict[Format, bytes], request: pytest.FixtureRequest, tmp_path: pathlib.Path
) -> None:
    assert request.config.cache is not None
    generator = random.Random(request.config.getoption("--seed"))
    bases = {kind.name: data for kind, data in encoded.items()}
    sound, broken, out = tmp_path / "sound.mlir", tmp_path / "broken", tmp_path / "out"
    sound.write_bytes(encoded[table.MLIR_TEXT])
    worker.run(["--overlap", str(sound), "-o", str(out)], out)  # what it needs once is not what an input needs
    statuses: collections.Counter[Any] = collections.Counter()
    longest = largest = 0.0
    for number in range(request.config.getoption("--examples")):
        out.unlink(missing_ok=True)
        if generator.random() < MISTYPED:
            argv, size = [*mistyped(generator), str(sound)], sound.stat().st_size
        else:
            data = damaged(generator, bases)
            broken.write_bytes(data)
            argv, size = ["--overlap", str(broken)], len(data)
        answer = worker.run([*argv, "-o", str(out)], out)
        if found := complaints(answer, size):
            kept = request.config.cache.mkdir("damaged-inputs") / f"{request.config.getoption('--seed')}-{number}"
            kept.write_bytes((broken if str(broken) in argv else sound).read_bytes())
            pytest.fail(f"input {number}: {', '.join(found)}; hlo-opt {argv} with the input in {kept}\n{answer}")
        assert not list(tmp_path.glob(".hlo-opt-*")), "a temporary file is left"
        statuses[answer["status"]] += 1
        longest, largest = max(longest, answer["seconds"]), max(largest, answer["peak"])
    print(f"exit statuses {dict(statuses)}, longest {longest:.1f} s, largest growth {int(largest) >> 20} MiB")
    assert statuses[1] > statuses[0]  # most damages are seen
