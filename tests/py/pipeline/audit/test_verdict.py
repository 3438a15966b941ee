"""What counts for a verdict, in which order, and budgets."""

import dataclasses

import pytest

from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.audit.launches import Launch
from hloverlap.pipeline.audit.verdict import METRICS, Budget, Totals, judge, totals
from hloverlap.pipeline.xla.isolated_compile import Failure

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


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, "same"),
        ({"failed": 1}, "worse"),
        ({"serialized": 1}, "better"),
        ({"serialized": 0, "exposed": 4}, "worse"),
        ({"serialized": 1, "exposed": 2}, "same"),
        ({"serialized": 1, "launches": 9, "peak_memory": 9000}, "better"),
        ({"exposed_bytes": 101, "launches": 1}, "worse"),
        ({"launches": 3, "peak_memory": 9000}, "better"),
        ({"peak_memory": 1009}, "same"),
        ({"peak_memory": 1011}, "worse"),
        ({"peak_memory": 500}, "better"),
        ({"in_flight": 5, "streams": 7}, "same"),
    ],
)
def test_the_first_number_that_differs_decides(change: dict[str, int], word: str) -> None:
    assert judge(BASE, dataclasses.replace(BASE, **change)).word == word


def test_a_module_that_compiles_again_is_better() -> None:
    assert judge(totals(Failure("aborted", "Check failed")), BASE).word == "better"


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
