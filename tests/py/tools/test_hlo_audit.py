"""The command hlo-audit, on XLA:CPU where a compile is needed at all."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from hloverlap.tools.audit.command import parse_options
from hloverlap.tools.hlo_audit import main
from hloverlap.tools.tables import Table, layout

RING = """\
module @ring attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<64xf32>) -> tensor<64xf32> {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
"""


@pytest.fixture
def ring(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of one permute, and an empty cache."""
    monkeypatch.setenv("HLOVERLAP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "ring.mlir"
    path.write_text(RING)
    return str(path)


def test_json_says_everything(ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ring, "--target=cpu", "--format=json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["target"] == "cpu"
    module = report["module"]
    assert (module["totals"]["launches"], module["totals"]["lost"]) == (1, 1)
    (op,) = module["collectives"]
    assert (op["kind"], op["bytes"], op["pairs"], op["line"]) == ("collective_permute", 256, [[0, 1], [1, 0]], 3)
    (launch,) = module["launches"]
    assert (launch["ids"], launch["stream"], launch["bytes"]) == ([0], "main", 256)
    assert module["failure"] is None


def test_two_modules_get_a_verdict(ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ring, ring, "--target=cpu"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"verdict: same: (.+) us instead of \1 us, which the prediction cannot tell apart$", text.rstrip())
    totals = next(line for line in text.splitlines() if line.startswith("totals"))
    assert totals.split() == ["totals", "before", "after"]


def test_worse_is_exit_four(ring: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = RING.splitlines()
    again = [lines[2].replace("%0 =", "%1 =").replace("(%a) <", "(%0) <"), lines[3].replace("%0", "%1")]
    twice = tmp_path / "twice.mlir"
    twice.write_text("\n".join([*lines[:3], *again, *lines[4:]]))
    assert main([ring, str(twice), "--target=cpu"]) == 4
    assert re.search(r"verdict: worse: .* collective-permute of line 4 is exposed for", capsys.readouterr().out)
    assert main([str(twice), ring, "--target=cpu"]) == 0
    assert "verdict: better" in capsys.readouterr().out


@pytest.mark.parametrize(("budget", "status"), [("synchronous>0", 5), ("serialized>0", 0)])
def test_a_budget_is_exit_five(ring: str, budget: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ring, "--target=cpu", f"--fail-on={budget}"]) == status
    assert ("over budget" in capsys.readouterr().err) == bool(status)


def test_sarif_is_what_code_hosts_read(ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ring, "--target=cpu", "--format=sarif"]) == 0
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert (log["version"], result["ruleId"], result["level"]) == ("2.1.0", "HLA002", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (pathlib.Path(ring).as_uri(), 3)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["HLA002"]


def test_no_jax_in_the_process_of_the_command(ring: str) -> None:
    code = "import sys; from hloverlap.tools.hlo_audit import main; main(sys.argv[1:]); print('jax' in sys.modules)"
    command = [sys.executable, "-c", code, ring, "--target=cpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_bad_input_is_one_line(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.mlir"
    path.write_text("module {")
    assert main([str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hlo-audit: error: ")
    assert error.count("\n") == 1


def test_options_are_read_as_what_they_look_like() -> None:
    texts = ["xla_a=-3", "--xla_b=true", "xla_c=false", "xla_d=COLLECTIVES_PEER_MEMORY", "xla_e=1.5"]
    assert parse_options(texts) == {
        "xla_a": -3,
        "xla_b": True,
        "xla_c": False,
        "xla_d": "COLLECTIVES_PEER_MEMORY",
        "xla_e": "1.5",
    }
    with pytest.raises(ValueError, match="xla_a"):
        parse_options(["xla_a"])


def test_a_table_in_a_pipe_is_aligned_and_on_a_terminal_drawn() -> None:
    table = Table(["op", "bytes"], [["#0", "2.0 MiB"], ["#10", ""]])
    assert layout(table) == "op   bytes\n#0   2.0 MiB\n#10"
    drawn = layout(table, decorated=True)
    assert "2.0 MiB" in drawn
    assert "\x1b[" in drawn


@pytest.mark.parametrize(("decorated", "width"), [(False, 120), (True, 72)])
def test_a_table_fits_by_names_that_are_shortened_in_the_middle(
    monkeypatch: pytest.MonkeyPatch, decorated: bool, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", "72")  # of the terminal
    name = "jit(train_step)/transpose(jvp())/" + "checkpoint/" * 30 + "ppermute.py:14"
    table = Table(["op", "source", "bytes"], [["#0", name, "2.0 MiB"], ["#1", "short.py:1", "8 B"]], elastic=(1,))
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in layout(table, decorated).splitlines()]
    assert width - 6 <= max(map(len, lines)) <= width
    assert re.search(r"#0 +jit\(train_step\)/transpose\S*…\S*/ppermute.py:14 +2.0 MiB", "\n".join(lines))
    assert re.search(r"#1 +short.py:1 +8 B", "\n".join(lines))


def test_what_is_not_a_name_is_never_shortened() -> None:
    table = Table(["op", "source"], [["#0 " * 50, "name" * 20]], elastic=(1,))
    assert "#0 " * 50 in layout(table)
    assert "namenam…namename" in layout(table)


def test_what_is_found_before_and_after_is_printed_once(
    ring: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.mlir"
    other.write_text(RING)
    for second in ([str(other)], ["--pass-pipeline=cse"]):
        assert main([ring, *second, "--target=cpu"]) == 0
        text = capsys.readouterr().out
        assert text.count("HLA002") == 1
        assert "\n1 of the above: the same here\n" in text


def test_a_timeline_shows_both_runs(ring: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.json"
    assert main([ring, ring, "--target=cpu", f"--timeline={path}"]) == 0
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.partition(" ")[0] for name in names] == ["before", "after"]
    assert {event["name"] for event in events if event.get("cat") == "transfer"} == {"collective-permute"}
    assert main([ring, "--target=cpu", f"--timeline={tmp_path}"]) == 1
    assert re.fullmatch(r"hlo-audit: error: cannot write .*: Is a directory\n", capsys.readouterr().err)


def test_the_predicted_time_is_in_the_report(ring: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ring, "--target=cpu", "--format=json"]) == 0
    module = json.loads(capsys.readouterr().out)["module"]
    found = module["prediction"]
    assert found["time"] == pytest.approx(found["compute"] + found["exposed"] + found["idle"])
    assert module["totals"]["time"] == round(found["time"]) > 0
    assert found["critical_path"][0]["name"] == "collective-permute"
    assert found["borrowed"] == []
    assert main([ring, "--target=cpu", "--fail-on=time>1"]) == 5
