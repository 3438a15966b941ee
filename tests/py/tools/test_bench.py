"""The benchmark: its programs compute what they should, its arithmetic is right, and nothing that breaks is lost."""

from __future__ import annotations

import json
import math
import pathlib
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hloverlap.tools.bench.gpu import exchanges, measuring, overlap, report
from hloverlap.tools.bench.gpu.cases import Case, cases
from hloverlap.tools.bench.gpu.command import main
from hloverlap.tools.bench.gpu.constants import constants, fit
from hloverlap.tools.bench.gpu.journal import Order
from hloverlap.tools.bench.gpu.overlap import Interval
from hloverlap.tools.bench.gpu.supervising import Outcome, Supervisor
from hloverlap.tools.bench.gpu.variants import BY_NAME, PLAIN, kin
from hloverlap.tools.samples.program import Program

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def bytes_of(program: Program, devices: int) -> int:
    """Bytes of the arguments on one device, if all are split."""
    leaves = jax.tree.leaves(program.args)
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves) // devices


class TestCases:
    @pytest.mark.parametrize("devices", [2, 4, 8])
    def test_every_program_can_be_built_and_fits(self, devices: int) -> None:
        for case in cases(devices):
            assert 0 < bytes_of(case.build(jax.devices()[:devices]), devices) < 4 << 30, case.name

    def test_one_device_skips_what_needs_two(self) -> None:
        for case in cases(1):
            if case.family.startswith("opposite") or case.family == "one-way":
                with pytest.raises(ValueError, match="does not divide"):
                    case.build(jax.devices()[:1])
            elif case.family != "small_transfers":
                case.build(jax.devices()[:1])

    def test_sizes_reach_from_4_kib_to_256_mib(self) -> None:
        sizes = {case.bytes for case in cases(2) if case.family in ("opposite+matmul", "ring+matmul", "one-way")}
        assert {4 << 10, 256 << 20} <= sizes

    def test_every_case_starts_with_plain_jit(self) -> None:
        for case in cases(2):
            assert case.variants[0] == PLAIN
            assert set(case.variants) <= BY_NAME.keys()

    @pytest.mark.parametrize("devices", [2, 4])
    def test_tiny_ones_lower(self, devices: int) -> None:
        for case in cases(devices, tiny=True):
            assert "module" in case.build(jax.devices()[:devices]).lower().as_text(), case.name


def run(program: Program) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arguments and results, whole, in f32."""
    args = measuring.inputs(program.args)
    results = program.compiled()(*args)
    return [np.asarray(x, np.float32) for x in args], [np.asarray(x, np.float32) for x in results]


class TestExchanges:
    def test_ring_moves_one_block_forwards_and_one_backwards(self) -> None:
        (a, b), (moved_a, moved_b) = run(exchanges.two_ways(jax.devices()[:4], size=4096, steps=1))
        rows = len(a) // 4
        np.testing.assert_array_equal(moved_a, np.roll(a, rows, axis=0))
        np.testing.assert_array_equal(moved_b, np.roll(b, -rows, axis=0))

    @pytest.mark.parametrize("sort", [True, False])
    def test_order_of_pairs_changes_nothing(self, sort: bool) -> None:
        (_, b), (_, moved) = run(exchanges.two_ways(jax.devices()[:2], size=4096, steps=1, sort=sort))
        np.testing.assert_array_equal(moved, np.roll(b, len(b) // 2, axis=0))

    def test_opposite_directions_never_send_zeros(self) -> None:
        """After two steps, what device 0 had in the first block is back on it, by way of device 1."""
        (a, b), (first, second) = run(exchanges.two_ways(jax.devices()[:2], size=4096, steps=2, ring=False))
        half = len(a) // 2
        np.testing.assert_array_equal(first[:half], a[:half])
        np.testing.assert_array_equal(second[half:], b[half:])

    def test_one_way_by_turns_comes_back(self) -> None:
        (a,), (moved,) = run(exchanges.one_way(jax.devices()[:2], size=4096, steps=4, ring=False))
        np.testing.assert_array_equal(moved[: len(a) // 2], a[: len(a) // 2])

    def test_chain_of_matmuls_stays_finite(self) -> None:
        _, (result, _) = run(exchanges.matmuls(jax.devices()[:2], matmul=64, steps=50))
        assert 1e-3 < np.abs(result).max() < 1e3

    def test_one_way_ring_matmul_is_a_matmul(self) -> None:
        program = exchanges.ring_matmul_one_way(jax.devices()[:4], rows=16, depth=8, columns=12, dtype=jnp.float32)
        args = program.inputs()
        found = program.compiled()(*args)
        np.testing.assert_allclose(found, program.reference(*map(np.asarray, args)), rtol=1e-4, atol=1e-4)


class TestMeasuring:
    def test_takes_calls_in_turn_and_as_often(self) -> None:
        called: list[str] = []
        calls = {name: lambda name=name: called.append(name) for name in ("a", "b", "c")}
        times = measuring.in_turn(calls, seconds=0.01, queue=False, beat=lambda: None)
        assert {name: called.count(name) for name in calls} == {name: len(times["a"].samples) + 1 for name in calls}
        turns = [tuple(called[n : n + 3]) for n in range(3, len(called), 3)]
        assert len(set(turns)) > 1
        assert {tuple(sorted(turn)) for turn in turns} == {("a", "b", "c")}

    def test_slower_call_takes_longer(self) -> None:
        calls = {"fast": lambda: None, "slow": lambda: time.sleep(0.01)}
        times = measuring.in_turn(calls, seconds=0.1, queue=False, beat=lambda: None)
        assert times["slow"].median > 0.009 > times["fast"].median

    def test_goes_on_until_it_is_clear_but_not_for_ever(self) -> None:
        seen: list[int] = []

        def enough(samples: measuring.Samples) -> bool:
            seen.append(len(samples["one"]))
            return False

        times = measuring.in_turn({"one": lambda: jnp.zeros(1)}, 1e-9, False, lambda: None, enough)
        assert seen == [7, 14]
        assert len(times["one"].samples) == 21

    def test_an_interval_holds_the_true_ratio(self) -> None:
        random = np.random.default_rng(3)
        held = 0
        for _ in range(400):
            ours, theirs = 1.1 * random.lognormal(0, 0.2, 40), random.lognormal(0, 0.2, 40)
            ratio = measuring.Ratio.of(ours, theirs)
            held += ratio.low <= 1.1 <= ratio.high
        assert held >= 394  # 398 are to be expected

    def test_few_samples_decide_nothing(self) -> None:
        assert not measuring.Ratio.of([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).decides(1.5)
        assert measuring.Ratio.of([2.0] * 40, [1.0] * 40).decides(1.5)

    def test_compares_bits(self) -> None:
        zero, negative = jnp.zeros(4), -jnp.zeros(4)
        assert measuring.compare([zero], [zero]) == (True, 0.0)
        assert measuring.compare([zero], [negative]) == (False, 0.0)
        equal, apart = measuring.compare({"x": jnp.ones(4, jnp.bfloat16)}, {"x": jnp.full(4, 1.5, jnp.bfloat16)})
        assert (equal, apart) == (False, 0.5)

    def test_nan_equals_the_same_nan(self) -> None:
        equal, apart = measuring.compare(jnp.array([jnp.nan]), jnp.array([jnp.nan]))
        assert equal
        assert math.isnan(apart)


def interval(start: float, end: float, name: str, stream: str = "Stream #1", op: str = "") -> Interval:
    return Interval(start * 1e3, end * 1e3, stream, name, op)


class TestOverlap:
    def test_sums_by_how_many_run(self) -> None:
        found = overlap.measure(
            [
                interval(0, 10, "ncclDevKernel_SendRecv"),
                interval(6, 14, "MemcpyP2P", "Stream #2"),
                interval(12, 20, "gemm", "Stream #3"),
            ]
        )
        assert (found.transfers, found.beside_compute, found.whole) == (14, 2, 20)

    def test_two_collectives_are_together_wherever_they_show(self) -> None:
        # A copy from device to device shows on the device that sends; an NCCL kernel shows on both.
        first = [interval(0, 10, "MemcpyP2P", op="permute.1"), interval(10, 20, "nccl", op="permute.3")]
        second = [interval(6, 16, "MemcpyP2P", op="permute.2"), interval(10, 20, "nccl", op="permute.3")]
        assert overlap.share_together([first, second]) == (4 + 6) / 20

    def test_touching_is_not_together(self) -> None:
        streams = [interval(0, 5, "nccl", op="1"), interval(5, 9, "nccl", "Stream #2", op="2")]
        assert overlap.measure(streams).transfers == 9
        assert overlap.share_together([streams]) == 0

    def test_nothing_ran(self) -> None:
        assert overlap.measure([]).transfers == 0

    def test_reads_the_streams_of_gpus_only(self) -> None:
        def line(name: str, *events: tuple[str, int, int]) -> Any:
            stats = [("hlo_op", "dot.1")]
            made = [types.SimpleNamespace(name=n, start_ns=s, duration_ns=d, stats=stats) for n, s, d in events]
            return types.SimpleNamespace(name=name, events=made)

        streams = [line("Stream #13(Compute)", ("gemm", 5, 10), ("mark", 5, 0)), line("XLA Ops", ("dot.1", 5, 10))]
        planes = [
            types.SimpleNamespace(name="/device:GPU:0", lines=streams),
            types.SimpleNamespace(name="/host:CPU", lines=[line("Stream", ("x", 0, 1))]),
        ]
        assert overlap.of_planes(planes) == {"/device:GPU:0": [Interval(5, 15, "Stream #13(Compute)", "gemm", "dot.1")]}


class TestConstants:
    def test_finds_latency_and_bandwidth(self) -> None:
        sizes = [4096, 1 << 20, 1 << 26]
        line = fit(sizes, [10e-6 + size / 200e9 for size in sizes])
        assert line is not None
        assert line.latency_us == pytest.approx(10)
        assert line.bandwidth_gbs == pytest.approx(200)
        assert line.error < 1e-6

    def test_one_size_makes_no_line(self) -> None:
        assert fit([4096, 4096], [1.0, 1.0]) is None

    def test_noise_makes_no_line(self) -> None:
        assert fit([4096, 8192], [2.0, 1.0]) is None

    def test_reads_them_off_results(self) -> None:
        def case(name: str, size: int, seconds: float) -> dict[str, Any]:
            variants = {PLAIN: {"seconds": seconds}, "streams": {"same_as": PLAIN}}
            return {"name": name, "family": name.partition("/")[0], "bytes": size, "steps": 2, "variants": variants}

        results = [
            case("one-way/4KiB", 4096, 2 * (5e-6 + 4096 / 100e9)),
            case("one-way/1MiB", 1 << 20, 2 * (5e-6 + (1 << 20) / 100e9)),
            case("copy/1MiB", 1 << 20, 2 * 2**21 / 4e12),
            case("many/2x4KiB", 4096, 2 * 10e-6),
            case("many/8x4KiB", 4096, 2 * 40e-6),
        ]
        found = constants(results, devices=2)
        assert found["link"]["latency_us"] == pytest.approx(5)
        assert found["memory_gbs"] == pytest.approx(4000)
        assert found["launch_us"] == pytest.approx({PLAIN: 5, "streams": 5})
        assert "link" not in constants(results, devices=1)


# A measuring process that does what a real one may: FAIL says in which phase of which variant it does what.
WORKER = """
import json, os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
order = json.loads((folder / "order.json").read_text())
fail = json.loads((folder / "fail.json").read_text())
journal = (folder / "journal.jsonl").open("a")
def tell(**event):
    journal.write(json.dumps(event) + "\\n"); journal.flush()
tell(event="machine", devices=2)
for case in ("first", "second", "third"):
    if case in order["done"]:
        continue
    faults = {**order["faults"].get("*", {}), **order["faults"].get(case, {})}
    for variant in ("plain", "streams", "peer"):
        if variant in faults:
            continue
        tell(event="at", case=case, variant=variant, phase="run")
        how = fail.get(variant if case != "third" or variant != "plain" else "")
        if how == "abort":
            print("F0101 00:00:00.000000 1 file.cc:1] Check failed: broken", file=sys.stderr, flush=True)
            os.abort()
        if how == "hang":
            time.sleep(60)
        if how == "fault":
            tell(event="fault", case=case, variant=variant, message="failed to run: no")
            sys.exit(3)
    variants = {name: {"status": faults.get(name, "measured")} for name in ("plain", "streams", "peer")}
    tell(event="result", case=case, last=True, result={"name": case, "variants": variants})
tell(event="finished")
"""


def supervise(folder: pathlib.Path, fail: dict[str, str], seconds: float = 30.0) -> Outcome:
    (folder / "worker.py").write_text(WORKER)
    (folder / "fail.json").write_text(json.dumps(fail))
    order = Order("measure", 0, "", "h200", True, time.time() + seconds, 1.0)
    command = [sys.executable, str(folder / "worker.py")]
    return Supervisor(order, folder, lambda outcome: None, command, patience=0.02).run()


class TestSupervisor:
    def test_all_goes_well(self, tmp_path: pathlib.Path) -> None:
        outcome = supervise(tmp_path, {})
        assert list(outcome.results) == ["first", "second", "third"]
        assert not outcome.faults
        assert not outcome.skipped

    @pytest.mark.parametrize(
        ("how", "said"), [("abort", "aborted: Check failed: broken"), ("hang", "hung"), ("fault", "failed to run: no")]
    )
    def test_goes_on_without_a_variant_that_breaks(self, tmp_path: pathlib.Path, how: str, said: str) -> None:
        outcome = supervise(tmp_path, {"streams": how})
        assert list(outcome.results) == ["first", "second", "third"]
        status = [result["variants"]["streams"]["status"] for result in outcome.results.values()]
        assert said in status[0]
        assert said in status[1]
        assert "left out after 2 failures" in status[2]
        assert all(result["variants"]["peer"]["status"] == "measured" for result in outcome.results.values())

    def test_gives_up_a_case_whose_plain_program_breaks(self, tmp_path: pathlib.Path) -> None:
        outcome = supervise(tmp_path, {"plain": "abort"})
        assert list(outcome.results) == ["third"]
        assert "Check failed" in outcome.skipped["first"]

    def test_ends_at_the_deadline(self, tmp_path: pathlib.Path) -> None:
        started = time.time()
        outcome = supervise(tmp_path, {"plain": "hang"}, seconds=1.0)
        assert time.time() - started < 5
        assert not outcome.results

    def test_worker_that_does_not_start(self, tmp_path: pathlib.Path) -> None:
        order = Order("measure", 0, "", "h200", True, time.time() + 30, 1.0)
        command = [sys.executable, "-c", "raise SystemExit('no GPU')"]
        outcome = Supervisor(order, tmp_path, lambda _: None, command).run()
        assert "does not start" in outcome.skipped["everything else"]
        assert "no GPU" in outcome.skipped["everything else"]

    def test_all_that_copies_to_peer_memory_fails_together(self) -> None:
        assert set(kin("peer")) == {"peer", "limit+peer", "streams+peer"}
        assert kin("streams") == ("streams",)


def bench(folder: pathlib.Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """Runs the command from the checkout, as on a machine where nothing is installed; its results and its output."""
    command = [sys.executable, "tools/bench", "run", "--tiny", "--seconds", "400", "--output", str(folder), *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=500, check=True)
    return json.loads((folder / "results.json").read_text()), done.stdout


class TestCommand:
    def test_measures_on_virtual_devices(self, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ("--platform", "cpu", "--devices", "2", "--case-seconds", "0.5")
        results, output = bench(tmp_path, *options, "--only", "opposite+matmul", "--only", "copy")
        by_name = {case["name"]: case for case in results["cases"]}
        variants = by_name["opposite+matmul/1MiB"]["variants"]
        assert variants[PLAIN]["status"] == "measured"
        assert variants[PLAIN]["magnitude"] > 0
        assert variants["streams"]["status"] == "measured"
        for name, told in variants.items():
            assert told.get("equal", True), name
        assert results["machine"]["devices"] == 2
        assert "opposite+matmul/1MiB" in results["profiles"]
        assert results["constants"]["memory_gbs"] > 0
        assert "## Speed-up" in output
        assert main(["report", str(tmp_path / "results.json")]) == 0
        assert capsys.readouterr().out == (tmp_path / "report.md").read_text()

    def test_compiles_for_gpus_that_are_not_there(self, tmp_path: pathlib.Path) -> None:
        results, output = bench(tmp_path, "--compile-for", "2", "--only", "opposite+matmul")
        (case,) = results["compiled"]["2"]["cases"]
        told = case["variants"]
        assert told[PLAIN]["predicted"]["asynchronous"] == 2
        # Permutes this small gain nothing by streams on an H200, and partial ones make no group: nothing is changed.
        assert told["streams"]["same_as"] == told["groups"]["same_as"] == PLAIN
        assert told["limit+peer"]["status"] == "compiled"
        assert told["auto"]["status"] == "compiled"
        assert "1 programs were compiled for 2 GPUs that were not there." in output
        assert "## Compiled for 2 GPUs that were not there" in (tmp_path / "report.md").read_text()

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"cases": 3}'])
    def test_bad_results(self, tmp_path: pathlib.Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "results.json"
        path.write_text(text)
        assert main(["report", str(path)]) == 1
        assert capsys.readouterr().err.startswith(f"bench: error: {path}")


class TestReport:
    def results(self, **told: Any) -> dict[str, Any]:
        plain = {"status": "measured", "seconds": 2e-3, "quartiles": [1.9e-3, 2.1e-3], "bytes_per_second": 5e10}
        plain["auto_over_this"] = [0.5, 0.4, 0.6]
        streams = {**plain, "seconds": 1e-3, "speedup": 2.0, "equal": True, "bytes_per_second": 1e11}
        streams |= {"auto_over_this": [1.0, 1.0, 1.0], **told}
        variants = {PLAIN: plain, "streams": streams, "auto": {"status": "compiled", "same_as": "streams"}}
        case = {"name": "ring/1MiB", "family": "ring", "bytes": 1 << 20, "sent": 1, "steps": 1, "variants": variants}
        machine = {"devices": 2, "kind": "GPU", "platform": "gpu", "jax": "0", "jaxlib": "0"}
        return {"machine": machine, "seconds": 1.0, "cases": [case], "skipped": {"x": "why"}, "broken": {}}

    def test_rows(self) -> None:
        text = report.markdown(self.results())
        assert "| ring/1MiB | 2.000 ms | 10.0% |    2.00 | 2.00 |" in text
        assert "| ring/1MiB |  50.0 |   100.0 | 100.0 |" in text
        assert "| ring/1MiB | streams |              0.0% | 0.0% to 0.0% |       yes |" in text
        assert "- x: why" in text

    @pytest.mark.parametrize(
        ("behind", "verdict"),
        [([1.02, 0.9, 1.2], "yes"), ([1.05, 1.04, 1.06], "no"), ([1.05, 1.01, 1.2], "not clear")],
    )
    def test_auto_is_behind_when_that_is_certain(self, behind: list[float], verdict: str) -> None:
        text = report.markdown(self.results(auto_over_this=behind))
        assert f"% | {verdict:>9} |" in text

    def test_other_bits_show(self) -> None:
        text = report.markdown(self.results(equal=False, difference=0.5))
        assert "2.00!" in text
        assert "streams: other bits than plain, by 0.5 (ring/1MiB)" in text


def families(found: Sequence[Case]) -> list[str]:
    return list(dict.fromkeys(case.family for case in found))


def test_what_the_project_claims_is_measured_first() -> None:
    assert families(cases(2))[:2] == ["opposite+matmul", "ring+matmul"]
