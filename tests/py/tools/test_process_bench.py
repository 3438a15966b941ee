"""The benchmark over real processes, and the calibration that it shares its processes with."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import time
from typing import ClassVar

import jax
import numpy as np
import pytest

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Costs, Link
from hloverlap.pipeline.children.process_group import LaunchError, launch
from hloverlap.tools import hlo_calibrate
from hloverlap.tools.bench.processes import arrays, command, report
from hloverlap.tools.bench.processes.cases import KIB, MOST_BYTES, Case, Program, cases
from hloverlap.tools.bench.processes.report import Measured
from hloverlap.tools.bench.processes.worker import VARIANTS
from hloverlap.tools.calibrate import worker


def measured(case: Case, auto: float, same_as_apart: bool = False) -> Measured:
    """A case that takes 1 ms as it is and is so many times faster with auto."""
    samples = {name: [1e-3, 1e-3] for name in VARIANTS} | {"auto": [1e-3 / auto] * 2}
    same_as = {name: name for name in VARIANTS} | ({"auto": "apart"} if same_as_apart else {})
    return Measured("2x4", case, samples, dict.fromkeys(VARIANTS, True), same_as)


class TestCases:
    def test_they_span_what_they_shall(self) -> None:
        every = cases()
        assert {case.count for case in every} >= {2, 4, 8, 16, 32, 64}
        assert min(case.bytes for case in every) == 256
        assert max(case.bytes for case in every if case.total(8) <= MOST_BYTES) == 16 << 20
        assert {(case.pairs, case.dtypes) for case in every} >= {
            ("ring", "mixed"),
            ("chain", "f32"),
            ("two-way", "mixed"),
        }
        assert len(set(every)) == len(every)
        assert set(cases(quick=True)).isdisjoint([case for case in every if case.total(8) > MOST_BYTES])

    @pytest.mark.parametrize(
        ("pairs", "rolled"),
        [("ring", [1, 1]), ("two-way", [1, -1]), ("chain", [1, 1])],
        ids=["ring", "two-way", "chain"],
    )
    def test_they_move_blocks_along_their_pairs(self, pairs: str, rolled: list[int]) -> None:
        program = Program(Case(pairs, "mixed", 2, 64), jax.devices()[:4])
        arguments = program.arguments()
        found = program.lower().compile()(*arguments)
        for argument, result, steps in zip(arguments, found, rolled, strict=True):
            expected = np.roll(np.asarray(argument).reshape(4, -1), steps, axis=0)
            if pairs == "chain":
                expected[0] = 0
            np.testing.assert_array_equal(np.asarray(result).reshape(4, -1), expected)


class TestReport:
    def test_ratio_is_of_rounds_from_the_last_start_to_the_last_end(self) -> None:
        case = Case("ring", "f32", 16, 8 * KIB)
        fields = {"pairs": "ring", "dtypes": "f32", "count": 16, "bytes": 8 * KIB}
        late = 100.0  # by how much the second process starts later, which counts for nothing
        fast = {name: [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)] for name in VARIANTS}
        ends = {"apart": [4.0, 9.0, 8.0], "concat": [2.0, 3.0, 8.0], "group": [4.0, 9.0, 8.0], "auto": [2.0, 3.0, 8.0]}
        slow = {name: [(late, late + end) for end in of_name] for name, of_name in ends.items()}
        rest = {"case": fields, "same_as": {name: name for name in VARIANTS}}
        equal = dict.fromkeys(VARIANTS, True)
        said = [{**rest, "samples": fast, "equal": equal}, {**rest, "samples": slow, "equal": equal | {"auto": False}}]
        one = Measured.of("2x4", said)
        assert one.case == case
        assert one.ratio("auto") == 2.0
        assert one.equal["concat"]
        assert not one.equal["auto"]
        assert "DIFFER" in report.table([one])

    def test_verdict_names_the_worst_case(self) -> None:
        many = [measured(Case("ring", "f32", 16, 8 * KIB), 5.0), measured(Case("chain", "mixed", 64, 256), 9.0)]
        text = report.verdict([*many, measured(Case("ring", "f32", 2, 64 * KIB), 0.9)])
        assert "5.00 to 9.00 times faster, median 7.00" in text
        assert "never below 0.90 (2x4, ring, f32, 2 permutes of 64 KiB)" in text

    def test_the_same_module_is_not_called_slower(self) -> None:
        assert "as it is" in report.table([measured(Case("ring", "f32", 2, 256), 1.0, same_as_apart=True)])


class TestProcesses:
    def test_quick_run_with_real_processes(self, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        output = tmp_path / "results.json"
        assert command.main(["--quick", "--layout", "2x2", "-o", str(output)]) == 0
        results = json.loads(output.read_text(encoding="utf-8"))
        assert not results["failure"]
        assert [Case(**one["case"]) for one in results["measured"]] == cases(quick=True)
        for one in results["measured"]:
            assert all(one["equal"].values())
            assert len(one["samples"]["apart"]) >= 5
        many_small = results["measured"][0]
        assert many_small["same_as"]["auto"] != "apart"
        assert many_small["ratio"]["auto"] > 1
        last = capsys.readouterr().out.splitlines()[-len(cases(quick=True)) - 1 :]
        assert last[0].startswith("layout  pairs")

    def test_many_arrays_arrive_faster_than_by_jax_device_put(self) -> None:
        """Three times and more on a machine that does nothing else; here others may run."""
        found = arrays.measure(runs=3)
        assert found["right"] == 3
        assert found["one device"]["equal"]
        assert found["four devices"]["equal"]
        assert max(found["one device"]["ratio"], found["four devices"]["ratio"]) > 1

    def test_process_that_fails_ends_all_at_once(self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "fails_in_one.py").write_text(
            "import time\n"
            "from hloverlap.pipeline.children.process_group import join\n"
            "join()\n"
            "import jax\n"
            "if jax.process_index() == 1: raise ValueError('no luck')\n"
            "time.sleep(600)\n",
            encoding="utf-8",
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        started = time.monotonic()
        with pytest.raises(LaunchError, match="process 1 failed: ValueError: no luck"):
            launch("fails_in_one", None, processes=2, devices=1, seconds=300)
        assert time.monotonic() - started < 100

    def test_time_is_limited(self, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "waits.py").write_text("import time; time.sleep(600)", encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        with pytest.raises(LaunchError, match=r"process 0 and 1 did not end within 0\.5 s"):
            launch("waits", None, processes=2, devices=1, seconds=0.5)

    @pytest.mark.parametrize("layout", ["1x4", "2x0", "4", "axb"])
    def test_layout_that_is_none(self, layout: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            command.main(["--layout", layout])
        assert ended.value.code == 2
        assert "is not PROCESSESxDEVICES" in capsys.readouterr().err


class TestCalibrate:
    BYTES: ClassVar = {"small": 1000, "large": 2_001_000, "copied": 1_000_000}

    def test_constants_from_times(self) -> None:
        seconds = {
            "self": 20e-6,
            "same process small": 70e-6,
            "same process large": 1070e-6,
            "same host small": 320e-6,
            "same host large": 4320e-6,
            "copy": 1e-3,
        }
        assert hlo_calibrate.costs(seconds, self.BYTES) == Costs(
            launch=20.0,
            copy=2000.0,
            same_process=Link(50.0, 2000.0),
            same_host=Link(300.0, 500.0),
            cross_host=Link(300.0, 500.0),
        )

    def test_noise_makes_no_time_that_is_none(self) -> None:
        names = ("self", "same process small", "same process large", "same host small", "same host large", "copy")
        found = hlo_calibrate.costs(dict.fromkeys(names, 1e-5), self.BYTES)
        target = targets.parse(hlo_calibrate.as_toml(found, 2, 2), "here")
        assert target.costs.cross_host == found.cross_host
        assert target.costs.cross_host.latency > 0

    def test_what_was_not_measured_is_as_on_any_cpu(self) -> None:
        target = targets.parse(hlo_calibrate.as_toml(Costs(launch=7.0), 2, 2), "here")
        cpu = targets.find("cpu")
        assert target == dataclasses.replace(
            cpu, name="here", aliases=(), platform="", costs=dataclasses.replace(cpu.costs, launch=7.0)
        )

    def test_links(self) -> None:
        owner = [0, 0, 1, 1]
        assert worker.within(owner) == [(0, 1), (1, 0), (2, 3), (3, 2)]
        assert worker.across(owner) == [(0, 2), (1, 3), (2, 0), (3, 1)]

    def test_what_it_writes_is_a_target(self, tmp_path: pathlib.Path) -> None:
        path = tmp_path / "here.toml"
        assert hlo_calibrate.main(["--devices", "2", "-o", str(path)]) == 0
        same_host = targets.find(str(path)).costs.same_host
        assert same_host is not None
        assert same_host.latency > 1
        assert 1 < same_host.bandwidth < 1e6

    def test_one_process_is_no_link(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert hlo_calibrate.main(["--processes", "1"]) == 2
        assert "both take two" in capsys.readouterr().err
