"""hlo-run runs a program as Python itself does, and says at the end what was rewritten."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from hloverlap.passes.remark import Remark
from hloverlap.pipeline import CompileRecord
from hloverlap.pipeline.jax_jit import import_hook
from hloverlap.tools.run import summary
from hloverlap.tools.run.workers import Process

TRAINING = pathlib.Path(__file__).resolve().parents[3] / "tools" / "samples" / "training"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "JAX_", "PYTHON"))}
EIGHT = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}

# What a program can see of how it was started.
PROBE = """
import json, os, sys
import __main__
assert __main__.__dict__ is globals()
path = os.path.realpath(sys.path[0])
print(json.dumps([sys.argv, __name__, __file__, __package__, __spec__ and __spec__.name, path, sorted(globals())]))
print(json.dumps([name in sys.modules for name in ("jax", "jaxlib", "numpy")]))
"""

JAX_PROGRAM = """
import os
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P

def exchange(x):
    def local(x):
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        down = jax.lax.ppermute(x, "x", [(i, (i - 1) % 4) for i in range(4)])
        return x * 2 + up - down
    return jax.shard_map(local, mesh=Mesh(jax.devices(), "x"), in_specs=P("x"), out_specs=P("x"))(x)

print(np.asarray(jax.jit(exchange)(np.arange(8.0, dtype=np.float32))).tolist())
"""


def hlo_run(*arguments: str | pathlib.Path, **options: object) -> subprocess.CompletedProcess[str]:
    """The command as the console script starts it: sys.path[0] is that of the script's own folder."""
    command = [str(pathlib.Path(sys.executable).parent / "hlo-run"), *map(str, arguments)]
    return run(command, **options)


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """A command with output caught, in an environment without settings for jax but those given as `env`."""
    options["env"] = ENVIRONMENT | dict(options.get("env", {}))  # type: ignore[call-overload]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


@pytest.fixture
def program(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder / "program.py"


def test_a_script_sees_what_it_sees_under_python(program: pathlib.Path) -> None:
    program.write_text(PROBE)
    for path in (program, pathlib.Path(os.path.relpath(program, program.parent.parent))):
        arguments = [str(path), "-o", "x", "--summary=json", "--", "y"]
        expected = run([sys.executable, *arguments], cwd=program.parent.parent)
        seen = hlo_run(*arguments, cwd=program.parent.parent)
        assert seen.stdout == expected.stdout
        assert seen.returncode == 0
        assert seen.stderr == "hlo-run: the program did not import jax\n"


def test_a_module_sees_what_it_sees_under_python(program: pathlib.Path) -> None:
    package = program.parent / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("__main__", "inner"):
        (package / f"{name}.py").write_text(PROBE)
    for name in ("package", "package.inner"):
        expected = run([sys.executable, "-m", name, "-m", "--topology=1x1"], cwd=program.parent)
        seen = hlo_run("-m", name, "-m", "--topology=1x1", cwd=program.parent)
        assert seen.stdout == expected.stdout
        assert seen.returncode == 0


def test_the_environment_is_the_programs_until_it_imports_jax(program: pathlib.Path) -> None:
    program.write_text(JAX_PROGRAM)  # sets XLA_FLAGS itself
    plain, seen = run([sys.executable, str(program)]), hlo_run(program)
    assert seen.stdout == plain.stdout
    assert "exchange" in seen.stderr
    noise = [line for line in plain.stderr.splitlines() if line not in seen.stderr]
    assert not noise
    assert seen.stderr.startswith(plain.stderr + "hlo-run: 1 of")  # no log lines of XLA's that were not there


@pytest.mark.parametrize(
    ("ending", "status", "stderr"),
    [
        ("sys.exit(3)", 3, "hlo-run: the program did not import jax\n"),
        ("sys.exit()", 0, "hlo-run: the program did not import jax\n"),
        ("sys.exit('no luck')", 1, "no luck\nhlo-run: the program did not import jax\n"),
        ("os._exit(4)", 4, ""),
        ("os.kill(os.getpid(), 2)", -signal.SIGINT, None),
        ("threading.Thread(target=lambda: print('late')).start()", 0, "hlo-run: the program did not import jax\n"),
    ],
)
def test_the_exit_status_is_the_programs(program: pathlib.Path, ending: str, status: int, stderr: str | None) -> None:
    program.write_text(f"import os, sys, threading\n{ending}\n")
    plain, seen = run([sys.executable, str(program)]), hlo_run(program)
    assert (seen.returncode, seen.stdout) == (plain.returncode, plain.stdout)
    assert seen.returncode == status
    assert stderr is None or seen.stderr == stderr


@pytest.mark.parametrize("text", ["def f():\n    raise KeyError('absent')\nf()\n", "import no_such_module\n", "1 +\n"])
def test_a_traceback_is_pythons_own(program: pathlib.Path, text: str) -> None:
    program.write_text(text)
    plain, seen = run([sys.executable, str(program)]), hlo_run(program)
    assert seen.returncode == plain.returncode == 1
    assert seen.stderr == plain.stderr + "hlo-run: the program did not import jax\n"


def test_an_import_error_of_a_module_is_its_own(program: pathlib.Path) -> None:
    program.write_text("import no_such_module\n")
    seen = hlo_run("-m", "program", cwd=program.parent)
    assert seen.returncode == 1
    assert "Traceback" in seen.stderr
    assert "as_main" not in seen.stderr


def test_processes_that_the_program_spawns_find_its_functions(program: pathlib.Path) -> None:
    program.write_text(
        "import multiprocessing\n"
        "def double(x): return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(double, [1, 2]))\n"
    )
    seen = hlo_run(program)
    assert seen.stdout == "[2, 4]\n"
    assert seen.returncode == 0


SAMPLES = {
    "ring_training": ("overlap", "num-annotated 14"),
    "gpipe_training": ("merge-cross-host-transfers{strategy=concat scope=all}", "num-merged"),
    "auto_training": ("overlap", ""),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_training_scripts_print_the_same(name: str) -> None:
    pipeline, change = SAMPLES[name]
    script = TRAINING / f"{name}.py"
    plain = run([sys.executable, str(script), "2"], env=EIGHT)
    seen = hlo_run(f"--pass-pipeline={pipeline}", "--partitioner-permutes", script, "2", env=EIGHT)
    assert plain.returncode == seen.returncode == 0
    assert seen.stdout == plain.stdout
    assert seen.stdout.count("loss") == 2
    if change:
        (row,) = [line for line in seen.stderr.splitlines() if line.startswith("train_step ")]
        assert "rewritten" in row
        assert change in row
    else:
        assert "hlo-run: 0 of " in seen.stderr
        assert "XLA:CPU has no streams: the partitioner's permutes are left as they are." in seen.stderr


def test_the_summary_as_json_in_a_file(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program.write_text(JAX_PROGRAM + "\nimport os; os.chdir('/')\n")
    seen = hlo_run("--summary=json", "-o", "told.json", program, cwd=tmp_path)
    assert seen.returncode == 0
    assert "hlo-run" not in seen.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["jax_imported"]
    assert not told["error"]
    (entry,) = [entry for entry in told["functions"] if entry["function"] == "exchange"]
    assert entry["outcome"] == "rewritten"
    assert entry["changes"] == "num-annotated 2, num-streams 2"
    assert {remark["code"] for remark in entry["remarks"]} >= {"ACS001"}


def test_no_summary_and_one_that_cannot_be_written(program: pathlib.Path) -> None:
    program.write_text("print('done')\n")
    assert hlo_run("--summary=none", program).stderr == ""
    seen = hlo_run("-o", program.parent, program)
    assert (seen.returncode, seen.stdout) == (0, "done\n")
    assert seen.stderr.startswith("hlo-run: the summary could not be written: ")


def test_compiles_of_threads_and_of_the_very_end_are_in_the_summary(program: pathlib.Path) -> None:
    program.write_text(
        "import atexit, threading, jax\n"
        "def in_thread(x): return x + 1\n"
        "def at_exit(x): return x * 2\n"
        "threading.Thread(target=lambda: jax.jit(in_thread)(1)).start()\n"
        "atexit.register(lambda: jax.jit(at_exit)(1))\n"
    )
    seen = hlo_run("--summary=json", program, env=EIGHT)
    functions = [entry["function"] for entry in json.loads(seen.stderr)["functions"]]
    assert {"in_thread", "at_exit"} <= set(functions)


def test_functions_are_chosen_by_name(program: pathlib.Path) -> None:
    program.write_text(JAX_PROGRAM)
    seen = hlo_run("--functions=train_*", program)
    assert "left out" in seen.stderr
    assert "its name does not match 'train_*'" in seen.stderr


def test_a_failing_pass_is_a_warning_or_with_strict_the_end(program: pathlib.Path) -> None:
    """A check that finds an error: an annotation over which XLA:GPU would abort; XLA:CPU takes no notice of it."""
    annotated = 'with set_xla_metadata(_xla_stream_annotation="first"): up = jax.lax.ppermute'
    imported = "from jax.experimental.xla_metadata import set_xla_metadata"
    program.write_text(imported.join(["", JAX_PROGRAM]).replace("up = jax.lax.ppermute", annotated))
    plain = hlo_run(program)
    check = "--pass-pipeline=verify-collectives"
    warned = hlo_run(check, program)
    assert (warned.returncode, warned.stdout) == (0, plain.stdout)
    assert "PipelineWarning: exchange runs as it was written; the pipeline failed: " in warned.stderr
    ended = hlo_run(check, "--strict", program)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "The stream annotation 'first' is no decimal number" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["absent.py"], 1, "hlo-run: error: can't open 'absent.py': No such file or directory\n"),
        (["."], 1, "hlo-run: error: can't open '.': Is a directory\n"),
        (["-m", "no_such_module"], 1, "hlo-run: error: No module named no_such_module\n"),
        (["--topology=2y4", "p.py"], 2, "hlo-run: error: topology '2y4' is none of HOSTSxDEVICES, such as 2x4"),
        (["--pass-pipeline=overlp", "p.py"], 2, "hlo-run: error: unknown pass 'overlp'; did you mean 'overlap'?\n"),
        ([], 2, "hlo-run: error: which program? give a script, or -m and a module (see hlo-run --help)\n"),
        (["--no-such-flag", "p.py"], 2, "hlo-run: error: unrecognized arguments: --no-such-flag"),
        (["--summary=yaml", "p.py"], 2, "hlo-run: error: argument --summary: invalid choice: 'yaml'"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: pathlib.Path, arguments: list[str], status: int, message: str) -> None:
    (tmp_path / "p.py").write_text("print('ran')\n")
    seen = hlo_run(*arguments, cwd=tmp_path)
    assert (seen.returncode, seen.stdout) == (status, "")
    assert seen.stderr.startswith(message)


def test_help_names_every_option() -> None:
    seen = hlo_run("--help")
    assert seen.returncode == 0
    for option in ("-m", "--pass-pipeline", "--topology", "--functions", "--partitioner-permutes", "--strict", "-o"):
        assert option in seen.stdout


def process(*records: CompileRecord, pid: int = 1, error: str = "", dropped: int = 0) -> Process:
    state = import_hook.State()
    state.imported, state.error = True, error
    return Process(pid, state, records, dropped)


def test_a_pipeline_that_could_not_be_installed_is_said() -> None:
    unlucky = process(error="AttributeError: it has moved")
    assert summary.as_text([unlucky]) == (
        "hlo-run: the program ran as it was written: the pipeline could not be installed: AttributeError: it has moved"
    )
    assert summary.as_text([unlucky, process()]).splitlines() == [
        "hlo-run: 0 of 0 compiled functions were rewritten, in 2 processes",
        "In 1 of the processes the pipeline could not be installed: AttributeError: it has moved",
    ]


def test_on_a_terminal_the_table_is_drawn() -> None:
    entry = CompileRecord("step", "left out", "its name does not match 'x'", "cpu", 8)
    plain, drawn = (summary.as_text([process(entry)], decorated) for decorated in (False, True))
    assert "─" in drawn
    assert "─" not in plain
    assert plain.splitlines()[-2:] == ["step:", "  its name does not match 'x'"]


def test_records_that_were_dropped_are_counted() -> None:
    full = process(CompileRecord("step", "rewritten", "", "cpu", 8), dropped=7)
    assert summary.as_text([full]).splitlines()[:2] == [
        "hlo-run: 1 of 1 compiled functions were rewritten",
        "7 more were compiled, of which nothing was kept.",
    ]
    assert json.loads(summary.as_json([full]))["functions_dropped"] == 7


def test_a_function_compiled_several_times_is_one_row() -> None:
    step = CompileRecord("step", "left out", "its name does not match 'x'", "cpu", 8, compile_seconds=1.5)
    other = dataclasses.replace(step, devices=4)
    lines = summary.as_text([process(step, other, step), process(step, pid=2)]).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["function", "times", "devices", "outcome", "what", "was", "done", "passes", "XLA"],
        ["step", "3", "8", "cpu", "left", "out", "0", "ms", "4.50", "s"],
        ["step", "1", "4", "cpu", "left", "out", "0", "ms", "1.50", "s"],
    ]
    reason = "  its name does not match 'x'"
    assert lines[4:] == ["step (3 times):", reason, "step:", reason]


@pytest.mark.parametrize("functions", [1, 5, 11, 12, 80])
@pytest.mark.parametrize("remarks", [1, 3, 60])
@pytest.mark.parametrize("decorated", [False, True])
def test_a_long_summary_is_cut_where_least_is_lost(functions: int, remarks: int, decorated: bool) -> None:
    told = tuple(
        Remark("ACS001", "remark", f"Put on stream {stream}.", file="a.py", line=1) for stream in range(remarks)
    )
    calm = [CompileRecord(f"calm{each}", "unchanged", "", "cpu", 8, remarks=told) for each in range(functions)]
    moved = CompileRecord("moved", "rewritten", "", "cpu", 8, remarks=told, options={"xla_limit": 2})
    lines = summary.as_text([process(*calm, moved)], decorated).splitlines()
    assert len(lines) <= 30 + 3 * decorated  # the lines that are drawn
    whole = 3 + functions + 1 + (functions + 1) * (1 + remarks) <= 30 and functions < 12
    assert any("--summary=json" in line for line in lines) != whole
    assert "  XLA options added: --xla_limit=2" in lines
    assert "  a.py:1: remark: ACS001: Put on stream 0." in lines
    assert any("moved" in line and "rewritten" in line for line in lines)


# Ways in which programs start their workers; each tells whether its function was rewritten.
WORKER = """
import multiprocessing as mp, os, subprocess, sys
def work(k=0):
    import jax, jax.numpy as jnp
    from jax.sharding import PartitionSpec as P
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    pp = lambda x, d: jax.lax.ppermute(x, "x", [(i, (i + d) % 8) for i in range(8)])
    local = lambda x: pp(x, 1) + pp(2 * x, -1)
    def exchange(x): return jax.shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)
    text = jax.jit(exchange).lower(jnp.arange(64.0)).compile().as_text()
    return "rewritten" if "_xla_stream_annotation" in text else "as written"
"""
STARTS = {
    "spawn": "with mp.get_context('spawn').Pool(1) as pool: print(pool.map(work, [0]))",  # ended by a signal
    "forkserver": "with mp.get_context('forkserver').Pool(1) as pool: print(pool.map(work, [0]))",
    "fork": "with mp.get_context('fork').Pool(1) as pool: print(pool.map(work, [0]))",
    "subprocess": "print([subprocess.run([sys.executable, __file__, '1'], stdout=-1, text=True).stdout.strip()])",
}


@pytest.mark.parametrize("start", STARTS)
def test_workers_are_rewritten_and_told_of_in_one_summary(program: pathlib.Path, start: str) -> None:
    main = f"    if sys.argv[1:]: print(work())\n    else:\n        {STARTS[start]}\n"
    program.write_text(f"{WORKER}\nif __name__ == '__main__':\n{main}")
    seen = hlo_run(program, env=EIGHT)
    assert (seen.returncode, seen.stdout) == (0, "['rewritten']\n")
    assert seen.stderr.count("hlo-run: ") == 1
    assert seen.stderr.splitlines()[0].startswith("hlo-run: 1 of ")
    (row,) = [line for line in seen.stderr.splitlines() if line.startswith("exchange ")]
    assert row.split()[1:5] == ["1", "8", "cpu", "rewritten"]


def test_what_the_program_and_its_workers_do_is_added_up(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    program.write_text(f"{WORKER}\nif __name__ == '__main__':\n    {STARTS['spawn']}; print(work())\n")
    seen = hlo_run(program, env=EIGHT | {"TMPDIR": str(tmp_path)})
    assert seen.stdout == "['rewritten']\nrewritten\n"
    assert seen.stderr.startswith("hlo-run: 2 of ")
    assert "compiled functions were rewritten, in 2 processes\n" in seen.stderr
    assert "exchange (2 times):\n" in seen.stderr
    assert not list(tmp_path.glob("hlo-run-*"))
    told = json.loads(hlo_run("--summary=json", program, env=EIGHT).stderr)
    rewritten = [each["process"] for each in told["functions"] if each["function"] == "exchange"]
    assert rewritten == [each["pid"] for each in told["processes"]]
    assert len(set(rewritten)) == 2


def test_a_worker_keeps_its_own_sitecustomize_and_environment(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("import builtins; builtins.theirs = __file__\n")
    program.write_text(
        "import subprocess, sys\n"
        "code = 'import sys, sitecustomize as s; print(theirs == s.__file__, [\"jax\" in sys.modules, sys.path])'\n"
        "print(subprocess.run([sys.executable, '-c', code], stdout=-1, text=True, check=True).stdout)\n"
    )
    environment = {"PYTHONPATH": str(tmp_path / "theirs")}
    plain, seen = run([sys.executable, str(program)], env=environment), hlo_run(program, env=environment)
    assert seen.stdout == plain.stdout
    assert seen.stdout.startswith("True [False, ")


def test_the_processes_in_which_we_compile_and_check_take_no_part(program: pathlib.Path) -> None:
    program.write_text("from hloverlap.pipeline.children import child; print([*child.environment()])\n")
    seen = hlo_run(program)
    assert seen.returncode == 0
    assert "PYTHONPATH" in seen.stdout
    assert "HLOVERLAP_RUN" not in seen.stdout


def test_transfers_that_only_the_partitioner_makes_are_one_line(program: pathlib.Path) -> None:
    program.write_text(
        "import jax, jax.numpy as jnp\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
        "x = jax.device_put(jnp.arange(64.0), NamedSharding(Mesh(jax.devices(), 'x'), P('x')))\n"
        "for n in (1, 2): jax.jit(lambda x: jnp.roll(x, n))(x)\n"
    )
    seen = hlo_run(program, env=EIGHT)
    assert seen.stderr.startswith("hlo-run: 0 of ")
    assert seen.stderr.count("There may be transfers that are not seen here: the module is sharded") == 1
    assert "--partitioner-permutes" in seen.stderr
