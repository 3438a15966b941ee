"""Every command ends alike: the same exit status for the same end, one line of error, and docs/exit-status.md."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from hloverlap.passes.errors import HloverlapError
from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
COMMANDS = ("hlo-opt", "hlo-audit", "hlo-run", "hlo-calibrate")
each_command = pytest.mark.parametrize("name", COMMANDS)

# Where the work of each command begins once its arguments are read.
WORK = {
    "hlo-opt": "hloverlap.tools.opt.optimizer:Optimizer.run",
    "hlo-audit": "hloverlap.tools.audit.command:run",
    "hlo-run": "hloverlap.tools.hlo_run:_find",
    "hlo-calibrate": "hloverlap.tools.hlo_calibrate:measure",
}
ARGUMENTS = {"hlo-opt": ["-"], "hlo-audit": ["-"], "hlo-run": ["-"], "hlo-calibrate": []}

# A command whose work is replaced: what happens in the middle of it must not depend on which one it is.
STAND_IN = """
import importlib, os, signal, sys, tempfile
name, place, *arguments = sys.argv[1:]
command = importlib.import_module("hloverlap.tools." + name.replace("-", "_"))

def work(*_):
    if {kills!r}:
        with tempfile.TemporaryDirectory(dir={folder!r}) as half_done:
            try:
                os.kill(os.getpid(), {kills!r})
                raise SystemExit(99)
            finally:
                print("cleared away", file=sys.stderr)
    if {raises!r}:
        raise eval({raises!r})
    while True:
        print("x" * 4096)

holder, _, attribute = place.partition(":")
holder = importlib.import_module(holder)
*path, attribute = attribute.split(".")
for each in path:
    holder = getattr(holder, each)
setattr(holder, attribute, work)
sys.argv = [name, *arguments]
sys.exit(command.main())
"""


def run(
    name: str, *arguments: str, stdout: int = subprocess.PIPE, debug: bool = False
) -> subprocess.CompletedProcess[str]:
    """The command, as a user starts it."""
    return _run([str(pathlib.Path(sys.executable).parent / name), *arguments], stdout, debug)


def run_with(
    name: str,
    folder: pathlib.Path,
    kills: int = 0,
    raises: str = "",
    stdout: int = subprocess.PIPE,
    debug: bool = False,
) -> subprocess.CompletedProcess[str]:
    """The command with work that kills its process, raises, or else prints for ever."""
    code = STAND_IN.format(kills=int(kills), raises=raises, folder=str(folder))
    return _run([sys.executable, "-c", code, name, WORK[name], *ARGUMENTS[name]], stdout, debug)


def _run(command: list[str], stdout: int, debug: bool) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
        env=os.environ | {"HLOVERLAP_DEBUG": "1" if debug else ""},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip


@each_command
def test_help_and_versions_are_fine(name: str) -> None:
    shown, versions = run(name, "--help"), run(name, "--version")
    assert (shown.returncode, shown.stderr) == (versions.returncode, versions.stderr) == (0, "")
    assert "docs/exit-status.md" in shown.stdout
    assert [line.split()[0] for line in versions.stdout.splitlines()] == ["hloverlap", "jaxlib", "python"]


@each_command
def test_bad_usage_is_2(name: str) -> None:
    done = run(name, "--no-such-flag", "module")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"{name}: error: [^\n]*--no-such-flag[^\n]* \(see {name} --help\)\n", done.stderr)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("hlo-opt", ["{module}", "--topology=2by4"]),
        ("hlo-opt", ["{module}", "--pass-pipeline=builtin.module(overlp)"]),
        ("hlo-opt", ["{module}", "{module}"]),
        ("hlo-opt", ["{module}", "--target=h300"]),
        ("hlo-audit", []),
        ("hlo-audit", ["{module}", "--topology=2by4"]),
        ("hlo-audit", ["{module}", "--pass-pipeline=builtin.module(overlp)"]),
        ("hlo-audit", ["{module}", "{module}", "--pass-pipeline=overlap"]),
        ("hlo-audit", ["{module}", "--target=h300"]),
        ("hlo-audit", ["{module}", "--fail-on=luck>1"]),
        ("hlo-run", []),
        ("hlo-run", ["--topology=2by4", "{program}"]),
        ("hlo-run", ["--pass-pipeline=builtin.module(overlp)", "{program}"]),
        ("hlo-run", ["--pass-pipeline=assign-collective-streams{{max-streams=0}}", "{program}"]),
        ("hlo-calibrate", ["--processes=1"]),
        ("hlo-calibrate", ["--processes=few"]),
    ],
)
def test_a_bad_value_is_2(name: str, arguments: list[str], tmp_path: pathlib.Path) -> None:
    module, program = tmp_path / "module.mlir", tmp_path / "program.py"
    module.write_text("module {}")
    program.write_text("print('it ran')")
    done = run(name, *(each.format(module=module, program=program) for each in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{name}: error: ")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("hlo-opt", ["{folder}/absent.mlir"]),
        ("hlo-opt", ["{folder}/module.mlir", "-o", "{folder}/no/such/folder"]),
        ("hlo-audit", ["{folder}/absent.mlir"]),
        ("hlo-run", ["{folder}/absent.py"]),
        ("hlo-run", ["-m", "no_such_module"]),
    ],
)
def test_bad_input_is_1(name: str, arguments: list[str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "module.mlir").write_text("module {}")
    done = run(name, *(each.format(folder=tmp_path) for each in arguments))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"{name}: error: [^\n]+\n", done.stderr)


@each_command
@pytest.mark.parametrize(
    ("raises", "status", "said"),
    [
        ("importlib.import_module('hloverlap.passes.errors').HloverlapError('it is bad')", 1, "it is bad"),
        ("command.shell.UsageError('it is odd')", 2, "it is odd (see {name} --help)"),
        (
            "KeyError('absent')",
            70,
            "internal error: KeyError: 'absent'; please report it with the input",
        ),
    ],
)
def test_what_is_raised_is_one_line_and_with_debug_a_traceback(
    name: str, raises: str, status: int, said: str, tmp_path: pathlib.Path
) -> None:
    line = f"{name}: error: {said.format(name=name)}\n"
    done = run_with(name, tmp_path, raises=raises)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", line)
    done = run_with(name, tmp_path, raises=raises, debug=True)
    assert done.returncode == status
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith(line)
    assert ", in work\n" in done.stderr


@each_command
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_clears_away_and_ends_the_process(name: str, which: signal.Signals, tmp_path: pathlib.Path) -> None:
    done = run_with(name, tmp_path, kills=which)
    assert (done.returncode, done.stdout, done.stderr) == (-which, "", "cleared away\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("hlo-opt", ["{sample}", "--overlap", "--check", "-o", os.devnull]), ("hlo-calibrate", ["--devices=2"])],
)
def test_processes_that_a_command_started_end_with_it(name: str, arguments: list[str], samples: pathlib.Path) -> None:
    command = [str(pathlib.Path(sys.executable).parent / name)]
    command += [each.format(sample=samples / "ring_matmul.mlir") for each in arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (children := _children(process.pid)) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)  # until the command knows the process that it has just started
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert children
    assert not [child for child in children if pathlib.Path(f"/proc/{child}").exists()]


def _children(pid: int) -> list[int]:
    """The processes that a process has started and not yet waited for."""
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text(encoding="utf-8").split()]


@each_command
def test_a_pipe_whose_reader_is_gone_ends_the_process(name: str, tmp_path: pathlib.Path) -> None:
    for command in (lambda out: run(name, "--help", stdout=out), lambda out: run_with(name, tmp_path, stdout=out)):
        read, write = os.pipe()
        os.close(read)
        done = command(write)
        os.close(write)
        assert (done.returncode, done.stderr) == (-signal.SIGPIPE, "")


@each_command
def test_a_full_device_is_1(name: str, tmp_path: pathlib.Path) -> None:
    line = f"{name}: error: <stdout>: cannot be written: No space left on device\n"
    with open("/dev/full", "wb") as full:
        for done in (run(name, "--help", stdout=full.fileno()), run_with(name, tmp_path, stdout=full.fileno())):
            assert (done.returncode, done.stderr) == (1, line)


@each_command
def test_a_closed_stdout_is_no_bug(name: str) -> None:
    closed = f"exec {pathlib.Path(sys.executable).parent / name} --version >&-"
    done = subprocess.run(["sh", "-c", closed], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_in_process_a_signal_is_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    def hung_up(_: object) -> int:
        raise BrokenPipeError

    assert [shell.run("it", work, []) for work in (interrupted, hung_up)] == [130, 141]
    assert capsys.readouterr() == ("", "")


def test_a_signal_holds_where_its_exception_was_swallowed() -> None:
    def swallows(_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException:
            raise HloverlapError("what came of it") from None
        return 0

    before = signal.getsignal(signal.SIGTERM)
    assert shell.run("it", swallows, []) == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_page_has_every_status_in_the_words_of_the_help() -> None:
    page = (REPOSITORY / "docs" / "exit-status.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\d+) \| (.+?) \|", page, re.MULTILINE))
    assert rows == {str(status.value): status.meaning for status in ExitStatus}
