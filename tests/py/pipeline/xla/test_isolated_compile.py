"""How a compile that comes to nothing is told."""

import pathlib
import stat
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hloverlap.passes.machine import targets
from hloverlap.pipeline.children import child as children
from hloverlap.pipeline.xla.compile_child import NOT_TAKEN, REFUSED
from hloverlap.pipeline.xla.isolated_compile import Dump, Failure, FailureKind, Option, Request, compile_module

REQUEST = Request(b"module {}", "cpu", "", "1x1x1", 1, 1, False)
MODULE = b"func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
REFUSED_MODULE = (
    b"module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
    b"func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
    b"%0 = stablehlo.custom_call @nobody_knows_it(%x) : (tensor<f32>) -> tensor<f32>\n"
    b"return %0 : tensor<f32>\n}\n}"
)


TARGET = targets.find("h200").gpu_target_config or ""


def request_of(module: bytes, option: Option) -> Request:
    return Request(module, "gpu", TARGET, "1x1x1", 1, 1, False, (option,))


@pytest.fixture
def child(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A script that stands in for the child process; it gets the folder as its last argument."""
    script = tmp_path / "python"
    monkeypatch.setattr(children.sys, "executable", str(script))
    return script


def outcome(child: pathlib.Path, body: str, time_limit: float = 30.0) -> Dump | Failure:
    child.write_text(
        f"#!{sys._base_executable}\n"  # type: ignore[attr-defined]
        + "import os, pathlib, signal, sys, time\nfolder = pathlib.Path(sys.argv[-1])\n"
        + textwrap.dedent(body)
    )
    child.chmod(child.stat().st_mode | stat.S_IXUSR)
    return compile_module(REQUEST, time_limit)


def test_a_failed_check_is_an_abort_with_its_text(child: pathlib.Path) -> None:
    body = """
        print("I1130 10:00:00.000000 1 file.cc:1] chatter", file=sys.stderr)
        print("F1130 10:00:00.000000 1 stream.cc:9] Check failed: a == b (1 vs. 2)", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    """
    assert outcome(child, body) == Failure("aborted", "Check failed: a == b (1 vs. 2)")


@pytest.mark.parametrize(
    ("signal", "failure"),
    [
        ("SIGKILL", Failure("killed", "SIGKILL, as when memory runs out")),
        ("SIGSEGV", Failure("crashed", "SIGSEGV, without a word")),
    ],
)
def test_a_signal_is_named(child: pathlib.Path, signal: str, failure: Failure) -> None:
    assert outcome(child, f"os.kill(os.getpid(), signal.{signal})") == failure


def test_a_hang_ends_with_the_time_limit_and_takes_its_children_along(
    child: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    note = tmp_path / "grandchild"
    body = f"""
        if os.fork() == 0:
            time.sleep(2)
            pathlib.Path({str(note)!r}).touch()
            os._exit(0)
        time.sleep(60)
    """
    assert outcome(child, body, 1.0) == Failure("timeout", "no end within 1 s")
    outcome(child, "time.sleep(2)")
    assert not note.exists()


def test_an_error_of_xla_is_one_line(child: pathlib.Path) -> None:
    body = """
        (folder / "error.txt").write_text("NOT_FOUND: first\\n  second")
        sys.exit(3)
    """
    assert outcome(child, body) == Failure("refused", "NOT_FOUND: first second")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("No PTX compilation provider is available.", "unavailable"),
        ("topology not implemented for cuda", "unavailable"),
        ("FAILED_PRECONDITION: No visible GPU devices.", "unavailable"),
        ("INTERNAL: libdevice not found at ./libdevice.10.bc", "unavailable"),
        ("INTERNAL: Failed to launch ptxas", "unavailable"),
        ("RESOURCE_EXHAUSTED: /tmp/dump/x.txt; No space left on device", "exhausted"),
    ],
)
def test_what_is_missing_is_told_from_what_is_wrong(child: pathlib.Path, text: str, kind: str) -> None:
    found = outcome(child, f'(folder / "error.txt").write_text({text!r})\nsys.exit(3)')
    assert isinstance(found, Failure)
    assert found.kind == kind
    if kind == "unavailable" and "GPU devices" not in text:
        assert "pip install 'hloverlap[gpu]'" in found.message


@pytest.mark.parametrize(("status", "kind"), [(REFUSED, "refused"), (NOT_TAKEN, "request")])
def test_what_is_wrong_is_not_told_by_words(child: pathlib.Path, status: int, kind: FailureKind) -> None:
    text = "UNKNOWN: Failed to parse using StableHLO"
    assert outcome(child, f'(folder / "error.txt").write_text({text!r})\nsys.exit({status})') == Failure(kind, text)


@pytest.mark.parametrize("module", [MODULE, REFUSED_MODULE])
@pytest.mark.parametrize("option", [("xla_gpu_no_such_option", 1), ("xla_gpu_dot_merger_threshold_mb", "abc")])
def test_an_option_that_xla_does_not_take_is_told_before_the_module(module: bytes, option: Option) -> None:
    found = compile_module(request_of(module, option))
    assert isinstance(found, Failure)
    assert found.kind == "request"
    assert option[0] in found.message


def test_an_error_in_the_module_is_not_blamed_on_a_good_option() -> None:
    found = compile_module(request_of(REFUSED_MODULE, ("xla_gpu_dot_merger_threshold_mb", 0)))
    assert isinstance(found, Failure)
    assert found.kind == "refused"


def test_a_bug_of_ours_in_the_child_is_not_hidden(child: pathlib.Path) -> None:
    assert outcome(child, "nonsense") == Failure("failed", "NameError: name 'nonsense' is not defined")


def test_what_xla_dumped_comes_home(child: pathlib.Path) -> None:
    body = """
        dump = folder / "dump"
        dump.mkdir()
        (dump / "module_0001.jit_f.thunk_sequence.txt").write_text("thunks")
        (dump / "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt").write_text("hlo")
    """
    assert outcome(child, body) == Dump("thunks", "", "hlo", "")
    assert isinstance(outcome(child, ""), Failure)


def test_the_users_xla_flags_do_not_count(child: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=/nowhere")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    body = """
        names = ("XLA_FLAGS", "JAX_ENABLE_X64", "JAX_PLATFORMS")
        (folder / "error.txt").write_text(repr([os.environ.get(name) for name in names]))
        sys.exit(3)
    """
    found = outcome(child, body)
    assert found == Failure("refused", "['--xla_force_host_platform_device_count=1', None, 'cpu']")


def test_compiles_end_when_the_user_has_had_enough(child: pathlib.Path) -> None:
    others = set(children._running)  # such as the server that partitions, which other tests may have started
    with ThreadPoolExecutor(1) as pool:
        compiling = pool.submit(outcome, child, 'print("started", file=sys.stderr, flush=True)\ntime.sleep(60)')
        while children._running <= others:
            time.sleep(0.01)
        children.stop_all()
        assert compiling.result(10) == Failure("killed", "SIGKILL, as when memory runs out")
    assert not children._running - others
