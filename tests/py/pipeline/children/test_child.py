"""A child runs in a setting that it can rely on, and ends when it must, with all that it has started."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import hloverlap
from hloverlap.pipeline.children import child, start
from hloverlap.pipeline.children.child import Child
from hloverlap.pipeline.children.ends import End


@pytest.fixture
def program(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Makes a module of some lines, and returns its name."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)

    def make(text: str) -> str:
        (folder / "program_of_a_test.py").write_text("import os, signal, sys, time, pathlib\n" + text)
        return "program_of_a_test"

    return make


def is_alive(process: int) -> bool:
    """Whether it runs; a zombie does not."""
    with contextlib.suppress(FileNotFoundError):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


@pytest.mark.parametrize(
    ("body", "limit", "end"),
    [
        ("sys.exit(0)", 60.0, End("ok")),
        ("sys.exit(5)", 60.0, End("refused", "", 5)),
        ("sys.exit()", 60.0, End("ok")),
        ("os._exit(1)", 60.0, End("failed", "exit status 1", 1)),
        ("os.abort()", 60.0, End("crashed", "SIGABRT, without a word", -6)),
        ("os.kill(os.getpid(), 9)", 60.0, End("killed", "SIGKILL, as when memory runs out", -9)),
        ("signal.raise_signal(2)", 60.0, End("killed", "SIGINT", -2)),
        ("time.sleep(60)", 1.0, End("timeout", "no end within 1 s", -9)),
        ("signal.pthread_sigmask(0, range(1, 32)); time.sleep(60)", 1.0, End("timeout", "no end within 1 s", -9)),
        ("raise ValueError('no')", 60.0, End("failed", "ValueError: no", 1)),
        (
            "sys.stderr.write('F0101 00:00:00.0 1 x.cc:1] No\\n' + 'x\\n' * 2**20); os.abort()",
            60.0,
            End("aborted", "No", -6),
        ),
    ],
)
def test_the_end(program: Callable[[str], str], body: str, limit: float, end: End) -> None:
    assert child.run(program(body), time_limit=limit) == (end, b"")


def test_a_program_that_is_not_there() -> None:
    end, _ = child.run("hloverlap.no_such_program")
    assert (end.kind, end.message) == ("unavailable", "No module named hloverlap.no_such_program")
    with Child(["/no/such/python"]) as missing:
        assert missing.is_over()
        assert missing.communicate(b"") == b""
        assert missing.end() == End("unavailable", "No such file or directory")


def test_megabytes_go_in_and_out(program: Callable[[str], str]) -> None:
    data = bytes(range(256)) * 40_000
    name = program("data = sys.stdin.buffer.read(); sys.stderr.write('x' * 1_000_000); sys.stdout.buffer.write(data)")
    assert child.run(name, data=data) == (End("ok"), data)


def test_input_that_nobody_reads(program: Callable[[str], str]) -> None:
    end, _ = child.run(program("os.abort()"), data=bytes(10_000_000))
    assert end.kind == "crashed"


def test_arguments_and_name_are_those_of_a_program(program: Callable[[str], str]) -> None:
    _, said = child.run(
        program("print(sys.argv[1:], __name__, __file__ == sys.argv[0])"), ["a", "-b", pathlib.Path("c")]
    )
    assert said == b"['a', '-b', 'c'] __main__ True\n"


def test_the_callers_settings_of_jax_and_xla_stay_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAX_ENABLE_X64", "XLA_FLAGS", "XLA_PYTHON_CLIENT_PREALLOCATE", "TF_CPP_MIN_LOG_LEVEL", "OTHER"):
        monkeypatch.setenv(name, "caller's")
    seen = child.environment(devices=3, given={"JAX_ENABLE_X64": "1"})
    settings = {name: seen.get(name) for name in seen if name.startswith(("JAX_", "XLA_", "TF_", "OTHER"))}
    assert settings == {
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=3",
        "OTHER": "caller's",
    }
    assert "XLA_FLAGS" not in child.environment()


def test_nothing_comes_from_the_current_folder(
    program: Callable[[str], str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "jax", "runpy", "ctypes", "hloverlap"):
        (tmp_path / f"{name}.py").write_text(f"raise RuntimeError('{name} of the current folder')\n")
    monkeypatch.chdir(tmp_path)
    name = program("import json, jax.version, hloverlap.pipeline.children.ends; print(hloverlap.__file__)")
    end, said = child.run(name)
    assert end == End("ok")
    assert said.decode().strip() == hloverlap.__file__


def test_the_package_is_the_parents_and_not_another_on_the_search_path(
    program: Callable[[str], str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hloverlap").mkdir()
    (tmp_path / "hloverlap" / "__init__.py").write_text("raise RuntimeError('another one')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    end, said = child.run(program("import hloverlap; print(hloverlap.__file__)"))
    assert (end, said.decode().strip()) == (End("ok"), hloverlap.__file__)


def test_sigint_works_in_a_child_of_a_background_job(program: Callable[[str], str]) -> None:
    """A shell starts background jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        end, _ = child.run(program("signal.raise_signal(2); time.sleep(60)"), time_limit=30)
    finally:
        signal.signal(signal.SIGINT, before)
    assert end == End("killed", "SIGINT", -2)


def test_what_it_started_ends_with_it(program: Callable[[str], str], tmp_path: pathlib.Path) -> None:
    """Whether it is given up, or ends by itself, in whatever way."""
    note = tmp_path / "note"
    grandchild = f"""
started = os.fork()
if not started: time.sleep(600)
pathlib.Path({str(note)!r}).write_text(str(started))
"""
    for ending in ("time.sleep(600)", "os.abort()", "sys.exit(0)"):
        child.run(program(grandchild + ending), time_limit=2)
        assert wait_for(lambda: not is_alive(int(note.read_text())), 5)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child that its parent died")
@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_its_parent_dies(
    program: Callable[[str], str], tmp_path: pathlib.Path, which: signal.Signals
) -> None:
    note = tmp_path / "note"
    name = program(f"pathlib.Path({str(note)!r}).write_text(str(os.getpid())); time.sleep(600)")
    code = f"from hloverlap.pipeline.children import child; child.run({name!r})"
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        assert wait_for(lambda: note.exists() and note.read_text())
        assert is_alive(int(note.read_text()))
        parent.send_signal(which)
        parent.wait()
    assert wait_for(lambda: not is_alive(int(note.read_text())), 5)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child that its parent died")
def test_a_child_whose_parent_is_gone_already_does_not_begin(program: Callable[[str], str]) -> None:
    command = child.python(program("print('it ran')"))
    command[command.index(str(os.getpid()))] = "1"
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_leaving_the_with_ends_it(program: Callable[[str], str]) -> None:
    reading, writing = os.pipe()
    with Child(child.python(program("print(os.getpid(), flush=True); time.sleep(600)")), stdout=writing) as one:
        process = int(os.read(reading, 20))
        assert is_alive(process)
    assert one.is_over()
    assert not is_alive(process)
    assert one not in child._running
    os.close(reading)
    os.close(writing)


def test_the_memory_that_a_child_allows_itself(program: Callable[[str], str]) -> None:
    limited = "from hloverlap.pipeline.children.limits import limit\nlimit(64 << 20, 1)\n"
    assert child.run(program(limited + "bytearray(1 << 20)"))[0].kind == "ok"
    assert child.run(program(limited + "bytearray(1 << 30)"))[0].kind == "exhausted"


def test_the_processor_time_that_a_child_allows_itself(program: Callable[[str], str]) -> None:
    limited = "from hloverlap.pipeline.children.limits import limit\nlimit(64 << 20, 1)\n"
    assert child.run(program(limited + "while True: pass"), time_limit=60)[0] == End(
        "timeout", "no end in any reasonable time", -signal.SIGXCPU
    )


def test_the_command_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert child.python("json.tool", 1)[:3] == [sys.executable, "-P", start.__file__]
    assert child.python("json.tool", 1)[-2:] == ["json.tool", "1"]
    assert json.loads(child.run("json.tool", data=b"[1]")[1]) == [1]
