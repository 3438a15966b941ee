"""Tasks in lanes: who waits for whom, and who is slower beside whom."""

from __future__ import annotations

import pytest

from hloverlap.pipeline.prediction.simulation import Kind, Task, run


def task(lane: str, work: float, *after: int, kind: Kind = "compute", resources: tuple[str, ...] = ()) -> Task:
    return Task(lane, kind, work, f"{lane} task", "", after, resources, slows=0.5 if "nccl" in resources else 0.0)


def spans(tasks: list[Task]) -> list[tuple[float, float]]:
    return [(each.start, each.end) for each in tasks]


def test_a_lane_runs_its_tasks_in_order_and_lanes_run_side_by_side() -> None:
    tasks = [task("a", 3), task("b", 2), task("a", 1), task("b", 5)]
    assert run(tasks) == 7
    assert spans(tasks) == [(0, 3), (0, 2), (3, 4), (2, 7)]


def test_a_task_waits_for_what_it_needs() -> None:
    tasks = [task("a", 3), task("b", 1), task("b", 1, 0), task("a", 1, 2)]
    assert run(tasks) == 5
    assert spans(tasks) == [(0, 3), (0, 1), (3, 4), (4, 5)]
    assert [each.cause for each in tasks] == [None, None, 0, 2]


def test_transfers_through_one_communicator_run_in_turn_whatever_their_stream() -> None:
    tasks = [task(lane, 4, kind="transfer", resources=("nccl",)) for lane in ("x", "y")]
    assert run(tasks) == 8


def test_copies_over_different_links_run_at_once_and_over_one_link_in_turn() -> None:
    def copies(*links: str) -> list[Task]:
        return [task(lane, 4, kind="transfer", resources=(link,)) for lane, link in zip("xy", links, strict=True)]

    assert run(copies("0>1", "1>0")) == 4
    assert run(copies("0>1", "0>1")) == 8


def test_compute_is_slower_while_a_transfer_through_nccl_runs_and_only_then() -> None:
    """In the four microseconds of the transfer the kernel does half of its work, and then the rest."""
    tasks = [task("main", 4), task("stream", 4, kind="transfer", resources=("nccl",))]
    assert run(tasks) == 6
    beside_a_copy = [task("main", 4), task("stream", 4, kind="transfer", resources=("0>1",))]
    assert run(beside_a_copy) == 4


def test_waiting_takes_no_time_but_keeps_its_lane() -> None:
    tasks = [task("stream", 5, kind="transfer"), task("main", 0, 0, kind="wait"), task("main", 1)]
    assert run(tasks) == 6


@pytest.mark.parametrize("count", [0, 1])
def test_of_nothing_it_takes_no_time(count: int) -> None:
    assert run([task("a", 0)] * count) == 0
