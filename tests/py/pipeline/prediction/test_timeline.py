"""The trace of a predicted run: its tracks, that nothing overlaps within one, and where it ends."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from typing import Any

import pytest

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.prediction import timeline
from hloverlap.pipeline.prediction.prediction import Prediction, predict
from hloverlap.pipeline.prediction.schedule import Message, Step


def run(trips: int, inner: int, tail: bool) -> Prediction:
    """A loop in a loop, with a transfer on a stream of its own; tail: and a kernel behind."""
    ring = Message("collective-permute", 1 << 24, 1, ((0, 1), (1, 0)))
    moved = Step("transfer", "permute", "model.py:2", messages=(ring,))
    start = Step("start", "start", stream="communication_stream[3]", async_id=1, body=(moved,))
    kernel = Step("kernel", "fusion", "model.py:1", bytes=1 << 28)
    body = (start, kernel, Step("done", "done", async_id=1))
    nested = Step("loop", "outer", trips=trips, body=(kernel, Step("loop", "inner", trips=inner, body=body)))
    return predict((kernel, nested, *([kernel] if tail else [])), targets.find("h200").costs, Topology.parse("1x1x2"))


def slices(text: str) -> dict[tuple[int, str], list[dict[str, Any]]]:
    events = json.loads(text)["traceEvents"]
    names = {(each["pid"], each["tid"]): each["args"]["name"] for each in events if each["name"] == "thread_name"}
    found = defaultdict(list)
    for each in sorted((each for each in events if each["ph"] == "X"), key=lambda each: each["ts"]):
        found[each["pid"], names[each["pid"], each["tid"]]].append(each)
    return found


@pytest.mark.parametrize(("trips", "inner"), [(1, 1), (3, 3), (2, 50), (40, 2), (40, 50)])
@pytest.mark.parametrize("tail", [False, True])
def test_tracks_do_not_overlap_and_end_when_the_run_does(trips: int, inner: int, tail: bool) -> None:
    before, after = run(trips, inner, tail), run(1, 1, tail)
    found = slices(timeline.trace({"before": before, "after": after}))
    lanes = ["host", "compute stream", "communication_stream[3]"]
    assert sorted(found) == sorted((process, lane) for process in (1, 2) for lane in lanes)
    for track in found.values():
        for one, other in itertools.pairwise(track):
            assert one["ts"] + one["dur"] <= other["ts"] + 1e-6
    for process, each in ((1, before), (2, after)):
        end = max(one["ts"] + one["dur"] for (number, _), track in found.items() for one in track if number == process)
        assert end == pytest.approx(each.time)


def test_slices_say_what_they_are() -> None:
    found = slices(timeline.trace({"it": run(1, 50, False)}))
    names = [each["name"] for each in found[1, "compute stream"]]
    assert names[-1] == "inner: 47 times more"
    (transfer, *_) = found[1, "communication_stream[3]"]
    assert (transfer["name"], transfer["cat"], transfer["args"]) == (
        "collective-permute",
        "transfer",
        {"source": "model.py:2"},
    )
