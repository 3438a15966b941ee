"""Whatever stops hlo-opt while it writes: the output file is the old one or the new one, and nothing else is left.

pytest tests/py/tools/test_interrupts.py --examples=100 --seed=7     a hundred moments
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-c", "import sys; from hloverlap.tools.hlo_opt import main; sys.exit(main())"]
OLD = b"// the old file\n"
MOMENTS = 6  # in a short run, for each signal


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A module of 8 MB, which takes a while to write."""
    count = 1 << 20
    values = "".join(f"{number:08X}" for number in range(count))
    path = tmp_path_factory.mktemp("large") / "large.mlir"
    path.write_text(
        f"func.func public @main() -> tensor<{count}xi32> {{\n"
        f'  %0 = stablehlo.constant dense<"0x{values}"> : tensor<{count}xi32>\n'
        f"  return %0 : tensor<{count}xi32>\n}}\n"
    )
    return path


def start(source: pathlib.Path, out: pathlib.Path) -> subprocess.Popen[bytes]:
    command = [*COMMAND, str(source), "-o", str(out)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_leaves_the_old_file_or_the_new_one(
    which: signal.Signals, large: pathlib.Path, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> None:
    generator = random.Random(request.config.getoption("--seed"))
    examples = request.config.getoption("--examples")
    out = tmp_path / "out.mlir"
    began = time.monotonic()
    with start(large, out) as process:
        assert process.wait() == 0
    whole, new = time.monotonic() - began, out.read_bytes()
    left = {"old": 0, "new": 0, "while writing": 0}
    for moment in range(examples if examples > 40 else MOMENTS):
        out.write_bytes(OLD)
        with start(large, out) as process:
            if moment % 4:  # a moment of the write itself: as soon as the temporary file is there, and a little later
                while process.poll() is None and not (writing := list(tmp_path.glob(".hlo-opt-*"))):
                    time.sleep(0.0002)
                left["while writing"] += bool(writing)
                time.sleep(generator.uniform(0, 0.02))
            else:
                time.sleep(generator.uniform(0, 1.2 * whole))
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(which)
            _, said = process.communicate(timeout=60)
        found = out.read_bytes()
        assert found in (OLD, new), f"{len(found)} bytes are left"
        assert os.listdir(tmp_path) == ["out.mlir"]
        left["old" if found == OLD else "new"] += 1
        if which == signal.SIGTERM:
            assert process.returncode in (0, -signal.SIGTERM)
        assert b"Traceback" not in said or which == signal.SIGINT  # Python's own, before the command begins
    print(which.name, left)
    assert left["while writing"]
    assert left["old"]


def test_a_full_disk_is_one_line_and_leaves_the_old_file(large: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out.mlir"
    out.write_bytes(OLD)
    # A limit on the size of files stands for a disk that is full after a megabyte.
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); {COMMAND[2]}"
    command = [sys.executable, "-c", limited, str(large), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"hlo-opt: error: {out}: cannot be written: File too large\n"
    assert os.listdir(tmp_path) == ["out.mlir"]
    assert out.read_bytes() == OLD


def test_a_full_device_is_one_line(large: pathlib.Path) -> None:
    done = subprocess.run([*COMMAND, str(large), "-o", "/dev/full"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1, "hlo-opt: error: /dev/full: cannot be written: No space left on device\n",
    )  # fmt: skip


def test_a_folder_that_takes_no_files_is_one_line(large: pathlib.Path) -> None:
    done = subprocess.run([*COMMAND, str(large), "-o", "/proc/out.mlir"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("hlo-opt: error: /proc/out.mlir: cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", ["--list-passes", "{large}", "{large} -o /dev/stdout"])
def test_a_closed_pipe_ends_it_in_silence(arguments: str, large: pathlib.Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, *arguments.format(large=large).split()]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")
