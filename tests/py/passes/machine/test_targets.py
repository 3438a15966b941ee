"""One file a machine: what the files say, how a device is recognised, and what is done where nothing is known."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import re
import shutil
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from hloverlap.passes.errors import TargetError
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.target import Costs, Link
from hloverlap.pipeline.execution import running
from hloverlap.pipeline.jax_jit import placement
from hloverlap.tools import hlo_audit, hlo_opt, hlo_run
from hloverlap.tools.bench.gpu import command as bench
from support.permutes import permute

GUIDE = (pathlib.Path(__file__).parents[4] / "docs" / "new-target.md").read_text(encoding="utf-8")
SHORT, WHOLE = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)

FILES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(targets.FOLDER.glob("*.toml"))}

COMMANDS = [hlo_opt.main, hlo_audit.main, hlo_run.main]

FORWARD, BACKWARD = [(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 3), (1, 0), (2, 1), (3, 2)]

# Two permutes that can be in flight together, on partitions of two hosts where the topology is 2x2.
TWO = f"""module attributes {{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func public @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {{
    {permute("%0", "%a", FORWARD, "tensor<8xf32>")}
    {permute("%1", "%b", BACKWARD, "tensor<8xf32>")}
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }}
}}"""


@pytest.mark.parametrize("text", [*FILES.values(), WHOLE], ids=[*FILES, "guide"])
def test_each_number_has_its_source_beside_it(text: str) -> None:
    """A comment on its line, or on the one before; of numbers that stand together, on the first."""
    costs = text[text.index("[costs]") :].split("\n# What XLA:GPU asks")[0]
    before = header = ""
    for line in filter(None, costs.splitlines()):
        if re.match(r"\w+ = ", line):
            assert "#" in f"{line}{header}" or before.startswith("#"), f"where is this from? {line}"
        if line.startswith("["):
            header = line
        before = line
    sources = set(re.findall(r"\[(\w+)\]", "".join(re.findall(r"#.*", text))))
    explained = set(re.findall(r"^#   \[(\w+)\] ", text, flags=re.MULTILINE))
    assert sources - {"compiler", "costs"} <= explained, "what is that source?"


@pytest.mark.parametrize(
    ("platform", "kind", "name"),
    [
        ("gpu", "NVIDIA H200", "h200"),
        ("cuda", "NVIDIA H200", "h200"),
        ("gpu", "NVIDIA H100 80GB HBM3", "h100"),
        ("gpu", "NVIDIA A100-SXM4-40GB", "a100"),
        ("gpu", "NVIDIA A100-SXM4-80GB", "a100"),
        ("gpu", "NVIDIA B200", "b200"),
        ("cpu", "cpu", "cpu"),
        ("cpu", "", "cpu"),
    ],
)
def test_a_device_is_recognised(platform: str, kind: str, name: str) -> None:
    assert targets.of_device(platform, kind) == targets.find(name)


@pytest.mark.parametrize(
    ("platform", "kind"),
    [
        ("gpu", "NVIDIA L4"),
        ("gpu", "Tesla V100-SXM2-16GB"),
        ("gpu", "AMD Instinct MI300X"),
        ("rocm", "AMD Instinct MI300X"),
        ("gpu", "NVIDIA GH200 480GB"),  # holds the name of another
        ("gpu", "NVIDIA GB200"),
        ("gpu", "NVIDIA H200 NVL"),  # other links
        ("gpu", "NVIDIA H100 PCIe"),
        ("gpu", "NVIDIA A100-SXM4-40GB MIG 1g.5gb"),
        ("tpu", "TPU v5e"),
        ("tpu", "NVIDIA H200"),
        ("tpu", "cpu"),
    ],
)
def test_a_device_that_nobody_has_described_is_unknown(platform: str, kind: str) -> None:
    found = targets.of_device(platform, kind)
    assert found.name == kind
    assert found.costs == Costs()
    assert found.gpu_target_config is None
    assert found.is_gpu == (platform != "tpu")


def test_compile_and_jit_take_the_machine_of_the_devices() -> None:
    def device(platform: str, kind: str) -> Any:
        return SimpleNamespace(platform=platform, device_kind=kind)

    assert placement.target_of([device("gpu", "NVIDIA H200")]) == targets.find("h200")
    unknown = placement.target_of([device("gpu", "NVIDIA L4")])
    assert unknown is not None
    assert unknown.costs == Costs()
    assert placement.target_of([]) is None


@pytest.mark.parametrize("kind", ["NVIDIA L4", "AMD Instinct MI300X", "TPU v5e"])
@pytest.mark.parametrize("pipeline", ["overlap", "join-partial-permutes"])
@pytest.mark.parametrize("topology", ["1x4", "2x2"])
def test_nothing_is_done_to_an_unknown_device_and_nothing_said_of_another(
    kind: str, pipeline: str, topology: str
) -> None:
    target = targets.of_device("tpu" if "TPU" in kind else "gpu", kind)
    result = running.run(TWO, pipeline, topology=topology, target=target)
    assert not result.changed
    assert result.compile_options == {}
    said = " ".join(remark.message for remark in result.remarks)
    assert not re.search(r"h200|\d us\b", said)


def test_without_a_target_nothing_rests_on_what_transfers_cost() -> None:
    result = running.run(TWO, "overlap", topology="2x2")
    assert {remark.code for remark in result.remarks} <= {"MCT017", "MCT010", "ACS001"}
    assert "about" not in " ".join(remark.message for remark in result.remarks)
    assert str(result.module).count("_xla_stream_annotation") == 2
    assert "xla_gpu_collective_permute_mode" not in result.compile_options


def help_of(command: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]) -> str:
    with contextlib.suppress(SystemExit):
        command(["--help"])
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_same_names(
    command: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    assert targets.described() in help_of(command, capsys)
    missing = str(tmp_path / "missing")
    for name in (*targets.names(), "gloo"):
        assert command([f"--target={name}", missing]) == 1
        assert "missing" in capsys.readouterr().err  # the name is right, and it went on to the file
    assert command(["--target=h900", missing]) == 2
    assert f"no target 'h900', nor a file of this name; there are {targets.described()}" in capsys.readouterr().err


def test_the_benchmark_takes_them_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bench.main(["run", "--target=h900"])
    assert ended.value.code == 2
    assert targets.described() in capsys.readouterr().err


def test_python_takes_them_as_well() -> None:
    for name in (*targets.names(), "gloo"):
        assert not running.run("module {}", "cse", target=name).changed
    with pytest.raises(TargetError, match="h900"):
        running.run("module {}", "cse", target="h900")


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The folder of the machines, with one more."""
    copied = shutil.copytree(targets.FOLDER, tmp_path / "targets", ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "l4.toml").write_text(WHOLE)
    monkeypatch.setattr(targets, "FOLDER", copied)
    return copied


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_machine_is_added_by_one_file(
    command: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    assert "h200, l4" in help_of(command, capsys)
    assert command(["--target=l4", str(tmp_path / "missing")]) == 1
    assert "missing" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_and_its_devices_are_recognised_and_its_costs_used() -> None:
    found = targets.of_device("gpu", "NVIDIA L4")
    assert found == targets.find("l4")
    assert found.costs == Costs(launch=5.0, copy=150e3, same_process=Link(5.0, 32e3))
    result = running.run(TWO, "overlap", topology="2x2", target="l4")
    assert not result.changed
    said = {remark.message for remark in result.remarks if remark.code == "MCT017"}
    missing = "Not merged: what it costs on l4 is not known; a target file with costs.cross_host says it."
    assert said == ({missing} if capabilities().group_overlaps_compute else set())


def test_the_short_file_of_the_guide(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text(SHORT)
    link = targets.find(str(path)).costs.cross_host
    assert link == Link(targets.find("h200").costs.cross_host.latency, 50e3)  # type: ignore[union-attr]


def test_a_file_says_only_what_differs(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "near.toml"
    path.write_text('base = "gloo"\n[costs]\nlaunch = 1\n[costs.cross_host]\nlatency = 2\n')
    found, base = targets.find(str(path)), targets.find("cpu")
    assert found.name == "near"
    assert found.backend == "cpu"
    assert base.costs.cross_host is not None
    link = dataclasses.replace(base.costs.cross_host, latency=2)
    assert found.costs == dataclasses.replace(base.costs, launch=1, cross_host=link)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("costs = 3\n", "'costs' is a table of its own: [costs] and values below it"),
        ('base = "h900"\n', "there is no target 'h900' for a base; there are a100"),
        ('base = "h200"\n[costs.peer]\nlatency = "24"\n', "'costs.peer.latency' is a number above 0, not '24'"),
        ('base = "h200"\n[costs]\npack = -1\n', "'costs.pack' is a number from 0 up, not -1"),
        ('base = "h200"\n[costs]\nlaunch = nan\n', "'costs.launch' is a number above 0, not nan"),
        ('base = "h200"\n[costs]\nlaunch = true\n', "'costs.launch' is a number above 0, not True"),
        ('base = "h200"\n[costs]\nstream_bytes = 1.5\n', "'costs.stream_bytes' is a whole number from 0 up, not 1.5"),
        ('base = "a100"\n[costs.peer]\nlatency = 1\n', "'costs.peer' has no bandwidth"),
        ('base = "h200"\n[device]\nkinds = "NVIDIA H200"\n', "'device.kinds' is a list of texts in quotes"),
        ('[compiler]\nbackend = "tpu"\n', "'compiler.backend' is \"gpu\" or \"cpu\", not 'tpu'"),
        ('[compiler]\nbackend = "gpu"\ngpu_target_config = "x"\n', "no gpu_device_info"),
        ("[costs]\nlaunch = 1\n", "neither a base nor who compiles"),
        ("", "neither a base nor who compiles"),
        ('base = "h200"\nlaunch = 1\n', "it has no 'launch'; it has name, base, aliases, device, compiler, costs"),
        ("launch: 1\n", "it is no TOML: "),
        ('{"base": "gloo", "launch": 30}', "it is JSON, and a target is TOML"),
        ("gpu_device_info {\n}\n", "it is a GpuTargetConfigProto, and a target is TOML"),
    ],
)
def test_a_file_that_is_wrong_is_told_by_its_line_or_key(tmp_path: pathlib.Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(TargetError, match=re.escape(said)) as raised:
        targets.find(str(path))
    assert str(raised.value).startswith(f"target '{path}': ")
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(TargetError, match="cannot be read"):
        targets.find(str(path))


def test_a_users_file_may_change(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "mine.toml"
    for launch in (1.0, 2.0):
        path.write_text(f'base = "h200"\n[costs]\nlaunch = {launch}\n')
        assert targets.find(str(path)).costs.launch == launch


@pytest.mark.parametrize("name", targets.names())
def test_what_compiles_is_said(name: str) -> None:
    found = targets.find(name)
    assert found.backend in ("gpu", "cpu")
    assert found.is_gpu or found.gpu_target_config is None
