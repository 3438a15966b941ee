"""Predicted times of small schedules, by hand, on a machine whose numbers are round."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Costs, Host, Link
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.prediction import schedule, tasks
from hloverlap.pipeline.prediction.comparing import compare
from hloverlap.pipeline.prediction.prediction import Prediction, predict
from hloverlap.pipeline.prediction.schedule import Message, Schedule, Step

FREE = Host(run=0.0, kernel=0.0, transfer=0.0, peer=0.0, event=0.0, turn=0.0)
COSTS = Costs(
    launch=1.0,
    same_process=Link(latency=10.0, bandwidth=100.0, member=5.0, one_way=200.0),
    cross_host=Link(latency=50.0, bandwidth=10.0),
    peer=Link(latency=20.0, bandwidth=100.0),
    copy=500.0,
    matmul=1000.0,
    kernel=0.0,
    slowdown=0.0,
    host=FREE,
    spread=0.1,
)
ONE_HOST, TWO_HOSTS = Topology.parse("1x1x2"), Topology.parse("2x1")
RING, THERE, BACK = ((0, 1), (1, 0)), ((0, 1),), ((1, 0),)


def kernel(time: int) -> Step:
    """A kernel that moves as many bytes as take `time` microseconds."""
    return Step("kernel", "fusion", "model.py:1", bytes=1000 * time)


def permute(size: int, pairs: tuple[tuple[int, int], ...] = RING, by_copy: bool = False) -> Step:
    messages = (Message("collective-permute", size, 1, pairs, (), by_copy),)
    return Step("transfer", "permute", "model.py:2", messages=messages)


def beside(number: int, inner: Step, stream: int = 0) -> tuple[Step, Step]:
    """The start and the done of something on a stream of its own."""
    started = Step("start", "start", stream=f"communication_stream[{stream}]", async_id=number, body=(inner,))
    return started, Step("done", "done", async_id=number)


def time(steps: Schedule, costs: Costs = COSTS, topology: Topology = ONE_HOST) -> float:
    return predict(steps, costs, topology).time


def test_a_matmul_takes_as_long_as_its_operations_or_its_bytes() -> None:
    assert time((Step("kernel", "dot", flops=8000, bytes=1000, multiplies="bf16"),)) == 8
    assert time((Step("kernel", "dot", flops=8000, bytes=1000, multiplies="f32"),)) == 16
    assert time((Step("kernel", "dot", flops=8000, bytes=1000, multiplies="f8e4m3fn"),)) == 4
    assert time((Step("kernel", "dot", flops=8000, bytes=9000, multiplies="bf16"),)) == 9


def test_xlas_bound_counts_where_there_is_no_matmul() -> None:
    assert time((Step("kernel", "slice of one of many", bytes=90_000, speed_of_light=6.0),)) == 10
    assert time((Step("kernel", "exp", bytes=1000, speed_of_light=7.0),)) == 7
    assert time((Step("kernel", "dot", flops=8000, bytes=1000, multiplies="bf16", speed_of_light=700.0),)) == 8


def test_a_permute_takes_what_its_link_says() -> None:
    assert time((permute(1000),)) == 10 + 10
    assert time((permute(1000, THERE),)) == 10 + 5
    assert time((permute(1000, by_copy=True),)) == 20 + 10
    assert time((permute(1000),), topology=TWO_HOSTS) == 50 + 100
    assert time((permute(1000, by_copy=True),), topology=TWO_HOSTS) == 50 + 100, "no copies between hosts"


def test_a_launch_of_several_permutes_fills_each_link_once() -> None:
    def group(*pairs: tuple[tuple[int, int], ...]) -> Step:
        messages = tuple(Message("collective-permute", 1000, 1, each) for each in pairs)
        return Step("transfer", "group", messages=messages)

    assert time((group(THERE, BACK),)) == 10 + 5 + 10
    assert time((group(RING, RING),)) == 10 + 5 + 20


@pytest.mark.parametrize(
    ("opcode", "size", "expected"),
    [("all-gather", 4000, 40), ("reduce-scatter", 1000, 40), ("all-reduce", 4000, 70), ("all-to-all", 4000, 40)],
)
def test_other_collectives_take_as_long_as_a_ring(opcode: str, size: int, expected: float) -> None:
    step = Step("transfer", opcode, messages=(Message(opcode, size),))
    assert time((step,), topology=Topology.parse("1x4")) == expected


def test_what_runs_beside_compute_is_hidden_and_the_rest_exposed() -> None:
    start, done = beside(1, permute(1000))
    found = predict((start, kernel(15), done, kernel(2)), COSTS, ONE_HOST)
    assert dataclasses.astuple(found.spent) == (17, 15, 5, 0)
    assert found.time == 22
    assert {str(doing): time for doing, time in found.exposed().items()} == {"collective-permute of model.py:2": 5}


def test_streams_gain_nothing_through_nccl_and_all_by_copies() -> None:
    def two(by_copy: bool, streams: tuple[int, int]) -> float:
        first, first_done = beside(1, permute(1000, THERE, by_copy), streams[0])
        second, second_done = beside(2, permute(1000, BACK, by_copy), streams[1])
        return time((first, second, first_done, second_done))

    assert two(False, (3, 4)) == two(False, (3, 3)) == 30
    assert (two(True, (3, 3)), two(True, (3, 4))) == (60, 30)


def test_a_device_waits_for_a_slow_host() -> None:
    costs = dataclasses.replace(COSTS, host=dataclasses.replace(FREE, run=3.0, kernel=10.0))
    found = predict((kernel(1), kernel(1)), costs, ONE_HOST)
    assert (found.time, found.spent.idle) == (24, 22)


def deep(trips: int, inner: int) -> Schedule:
    start, done = beside(1, permute(500))
    twice = Step("loop", "inner", trips=inner, body=(kernel(3), start, kernel(1), done))
    return (kernel(7), Step("loop", "outer", trips=trips, body=(kernel(2), twice)), kernel(5))


@pytest.mark.parametrize("costs", [COSTS, targets.find("h200").costs], ids=["round", "h200"])
@pytest.mark.parametrize(("trips", "inner"), [(0, 4), (2, 2), (3, 9), (12, 1), (7, 8)])
def test_a_loop_that_is_simulated_in_part_is_as_one_that_is_simulated_in_whole(
    costs: Costs, trips: int, inner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = predict(deep(trips, inner), costs, ONE_HOST)
    monkeypatch.setattr(tasks, "SIMULATED", 1000)
    whole = predict(deep(trips, inner), costs, ONE_HOST)
    assert whole.windows == ()
    assert dataclasses.astuple(part.spent) == pytest.approx(dataclasses.astuple(whole.spent), rel=0.02, abs=1)
    assert sum(part.exposed().values()) == pytest.approx(sum(whole.exposed().values()), rel=0.02, abs=1)


def test_work_does_not_grow_with_the_trips_of_a_loop() -> None:
    assert len(predict(deep(1_000_000, 1000), COSTS, ONE_HOST).tasks) == len(predict(deep(4, 4), COSTS, ONE_HOST).tasks)


def test_a_loop_that_asks_the_device_waits_for_it() -> None:
    costs = dataclasses.replace(COSTS, host=dataclasses.replace(FREE, kernel=4.0))
    body = (kernel(10), kernel(10))
    known, unknown = (Step("loop", "while", trips=trips, body=body) for trips in (1, None))
    assert time((*body, unknown), costs) == time((*body, known), costs) + 4


def test_the_critical_path_is_the_whole_time() -> None:
    start, done = beside(1, permute(1000))
    found = predict((kernel(5), start, kernel(15), done, kernel(2)), COSTS, ONE_HOST)
    path = {str(doing): time for doing, time in found.critical_path().items()}
    assert path == {"collective-permute of model.py:2": 20, "kernels of model.py:1": 7}
    assert sum(path.values()) == found.time


def test_what_a_machine_does_not_say_is_borrowed_and_said() -> None:
    found = predict((permute(1000), kernel(1)), dataclasses.replace(COSTS, slowdown=None, same_process=None), ONE_HOST)
    assert found.borrowed == ("same_process", "slowdown")
    assert predict((permute(1000), kernel(1)), COSTS, ONE_HOST).borrowed == ()
    assert predict((permute(1000),), targets.find("h200").costs, ONE_HOST).borrowed == ()


def test_a_schedule_can_be_kept_as_json() -> None:
    steps = (*deep(3, 2), Step("transfer", "gather", messages=(Message("all-gather", 8, groups=((0, 1), (2, 3))),)))
    assert schedule.load(json.loads(json.dumps([dataclasses.asdict(step) for step in steps]))) == steps


def of(*steps: Step) -> Prediction:
    return predict(steps, COSTS, ONE_HOST)


def test_the_faster_program_is_better_and_the_reason_names_an_op() -> None:
    start, done = beside(1, permute(19_000))
    exposed, hidden = of(permute(19_000), kernel(300)), of(start, kernel(300), done)
    why = "collective-permute of model.py:2 is exposed for"
    assert compare(exposed, hidden, 0.1) == ("better", f"300 us instead of 500 us: {why} 0 us instead of 200 us")
    assert compare(hidden, exposed, 0.1) == ("worse", f"500 us instead of 300 us: {why} 200 us instead of 0 us")
    word, reason = compare(of(kernel(100)), of(kernel(200)), None)
    assert (word, reason) == ("worse", "200 us instead of 100 us: kernels of model.py:1 take 200 us instead of 100 us")


def test_within_what_a_prediction_can_be_off_two_programs_are_the_same() -> None:
    assert compare(of(kernel(9000)), of(kernel(9190)), 0.0)[0] == "same", "two percent are noise, and 20 us"
    assert compare(of(kernel(9000)), of(kernel(9210)), 0.0)[0] == "worse"
    # 400 us less exposed and 300 more of compute: a tenth of 700 is less than 100, and two fifths are more.
    before, after = of(permute(39_000), kernel(1000)), of(kernel(1300))
    assert compare(before, after, 0.01)[0] == "better"
    assert compare(before, after, 0.4)[0] == "same"
