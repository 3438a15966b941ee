"""What counts for a verdict, in which order, and budgets."""

import dataclasses

import pytest

from hloverlap.passes.machine.target import Costs, Host
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.audit.launches import Launch
from hloverlap.pipeline.audit.verdict import METRICS, Budget, Totals, judge, memory_warning, totals
from hloverlap.pipeline.prediction.prediction import Prediction, predict
from hloverlap.pipeline.prediction.schedule import Step

BASE = Totals(collectives=4, launches=4, serialized=2, exposed=1, exposed_bytes=100, bytes=400, peak_memory=1000)


def launch(**fields: object) -> Launch:
    """A hidden asynchronous permute, changed by `fields`."""
    plain = Launch(
        (0,), "collective-permute", 1, 64, "communication_stream[0]", False, 1, (0, 2), 0, "s", flops=1 << 30
    )
    return dataclasses.replace(plain, **fields)  # type: ignore[arg-type]


def test_totals_count_each_launch_once() -> None:
    launches = (
        launch(stream="communication_stream[3]", beside=(1,), peers=(1, 2)),
        launch(stream="communication_stream[4]", beside=(0,), peers=(0, 2), runs=7),
        launch(stream="main", flops=0, peers=(0, 1), ids=(2, 3), members=2),
        launch(ids=(4, 5, 6), members=3, group=True),
    )
    found = totals(Program(launches, 5000))
    assert found == Totals(
        collectives=7,
        launches=4,
        serialized=2,
        in_flight=1 + 3,
        synchronous=2,
        exposed=1,
        streams=3,
        groups=1,
        bytes=256,
        exposed_bytes=64,
        hidden_flops=3 << 30,
        peak_memory=5000,
    )
    assert found.lost == 3


def predicted(time: int) -> Prediction:
    """A program of one kernel of so many microseconds."""
    kernel = Step("kernel", "fusion", bytes=1000 * time)
    free = Host(run=0.0, kernel=0.0, transfer=0.0, peer=0.0, event=0.0, turn=0.0)
    return predict((kernel,), Costs(copy=500.0, kernel=0.0, host=free), Topology.parse("1x1"))


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (1000, 2000, "worse"),
        (2000, 1000, "better"),
        (1000, 1010, "same"),
        (None, 1000, "better"),
        (1000, None, "worse"),
        (None, None, "unknown"),
    ],
)
def test_the_predicted_time_decides(before: int | None, after: int | None, word: str) -> None:
    first, second = (None if time is None else predicted(time) for time in (before, after))
    assert judge(first, second, 0.1).word == word


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (1 << 30, 1 << 30, ""),
        (1 << 30, (1 << 30) + (50 << 20), ""),
        (1 << 30, 3 << 29, "peak memory 1073741824 -> 1610612736 bytes, 50% more"),
        (3 << 29, 1 << 30, ""),
        (1 << 20, 9 << 20, ""),
        (0, 1 << 30, ""),
    ],
)
def test_more_memory_is_a_warning_and_decides_nothing(before: int, after: int, said: str) -> None:
    assert memory_warning(Totals(peak_memory=before), Totals(peak_memory=after)) == said


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("serialized>0", True),
        ("serialized>2", False),
        ("lost >= 3", True),
        ("exposed-bytes<100", False),
        ("groups!=0", False),
    ],
)
def test_budgets(text: str, broken: bool) -> None:
    assert bool(Budget.parse(text).broken_by(BASE)) == broken


@pytest.mark.parametrize("text", ["serialised>0", "serialized", "serialized>-1", "serialized>many", ""])
def test_a_budget_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="budget"):
        Budget.parse(text)


def test_every_metric_can_be_budgeted() -> None:
    for metric in METRICS:
        assert Budget.parse(f"{metric}>=0").broken_by(BASE)
