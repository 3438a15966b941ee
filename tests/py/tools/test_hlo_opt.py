"""The command as a process: exit status, streams, start. What each flag does is in tests/lit/hlo-opt."""

import io
import os
import pathlib
import statistics
import subprocess
import sys
import time

import pytest

from hloverlap.passes import registry
from hloverlap.tools import hlo_opt
from hloverlap.tools.opt import pass_listing

HLO_OPT = str(pathlib.Path(sys.executable).parent / "hlo-opt")

ONE_OP = """func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

BARE = """
import sys

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

registry = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(registry)
context = ir.Context()
context.append_dialect_registry(registry)
context.load_all_available_dialects()
for dialect in (stablehlo, sdy, chlo):
    dialect.register_dialect(context)
with context, open(sys.argv[1]) as file:
    print(ir.Module.parse(file.read()))
"""


@pytest.fixture
def one_op(tmp_path):
    path = tmp_path / "one_op.mlir"
    path.write_text(ONE_OP)
    return path


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--overlap"], 0),
        (["--detune"], 0),
        (["--detune", "--verify-diagnostics"], 0),
        (["--note", "--verify-diagnostics"], 1),
        (["--nope"], 2),
        (["--pass-pipeline=builtin.module("], 2),
        (["--refuse"], 1),
        (["--stumble"], 1),
        (["--topology=0x0"], 2),
        (["--emit=export"], 1),
        (["-o", "no/such/folder/out.mlir"], 1),
    ],
)
def test_exit_status(plugins, one_op, capfd, arguments, status):
    assert hlo_opt.main([str(one_op), *arguments]) == status
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    assert "hlo-opt: error: " in err or status == 0 or "--verify-diagnostics" in arguments
    assert bool(out) == (status == 0 and "--verify-diagnostics" not in arguments)


def test_a_difference_found_by_check_is_3(plugins, tmp_path, capfd):
    path, output = tmp_path / "sum.mlir", tmp_path / "out.mlir"
    path.write_text(
        ONE_OP.replace("%a: tensor<4xf32>", "%a: tensor<4xf32>, %b: tensor<4xf32>").replace("%a, %a", "%a, %b")
    )
    assert hlo_opt.main([str(path), "--cse", "--check", "-o", str(output)]) == 0
    output.unlink()
    assert hlo_opt.main([str(path), "--detune", "--check", "-o", str(output)]) == 3
    assert not output.exists()
    assert "check: different: " in capfd.readouterr().err


def test_what_check_cannot_run_is_6_and_written(plugins, tmp_path, capfd):
    path, output = tmp_path / "calls.mlir", tmp_path / "out.mlir"
    call = "%0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) : (tensor<4xf32>) -> tensor<4xf32>"
    cannot = f"func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n  {call}\n  return %0 : tensor<4xf32>\n}}"
    path.write_text(cannot)
    assert hlo_opt.main([str(path), "--cse", "--check", "-o", str(output)]) == 6
    assert "xla_ffi_python_cpu_callback" in output.read_text()
    assert "check: not checked, and written all the same: " in capfd.readouterr().err
    path.write_text(f"{cannot}\n// -----\n{ONE_OP}")  # the second part can be run, and is equal
    assert hlo_opt.main([str(path), "--cse", "--check", "--split-input-file"]) == 6


def test_a_full_disk_is_an_error(one_op):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([HLO_OPT, one_op], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"hlo-opt: error: <stdout>: cannot be written: No space left on device\n"


def test_the_same_bytes_in_every_process(samples):
    def run(seed):
        return subprocess.run(
            [HLO_OPT, samples / "halo_exchange.mlir", "--overlap", "--mlir-print-debuginfo"],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )

    first, second = run("1"), run("2")
    assert first.stdout == second.stdout
    assert first.stderr == second.stderr


def test_the_list_on_a_terminal_holds_what_the_plain_one_holds(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    pass_listing.show()
    for name in registry.BUILTIN:
        found = registry.find(name)
        for words in (name, found.summary, *found.statistics, *found.statistics.values()):
            assert words in terminal.getvalue()
        for option in found.options():
            assert f"{option.name}=<{option.type_name}>" in terminal.getvalue()
            assert f"{option.help} [{option.format(option.default)}]" in terminal.getvalue()


def test_jax_is_not_imported(one_op):
    code = f"""
import sys
from hloverlap.tools.hlo_opt import main
assert main([{str(one_op)!r}, "--overlap", "--canonicalize", "-o", {os.devnull!r}]) == 0
assert not [name for name in sys.modules if name.split(".")[0] in ("jax", "rich", "argparse")]
assert "importlib.metadata" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.timed
def test_the_start_costs_little(one_op, tmp_path):
    """At most 1.6 times a bare script that parses and prints the same module; in turns, so that load hits both."""
    bare = tmp_path / "bare.py"
    bare.write_text(BARE)
    commands = {
        "bare": [sys.executable, bare, one_op],
        "hlo-opt": [HLO_OPT, one_op, "-o", os.devnull],
    }
    seconds = {name: [] for name in commands}
    for _ in range(11):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    assert medians["hlo-opt"] <= 1.6 * medians["bare"], medians
