"""Says which of two programs is faster, by more than a prediction can be off, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hloverlap.pipeline.prediction.prediction import Doing, Prediction

Word = Literal["better", "same", "worse"]

# By so much two runs of one program differ anyway: two percent, and short ones by a tenth (docs/measurements.md).
NOISE, SHORT = 0.02, 20.0  # a share, and microseconds
UNMEASURED = 0.5  # the spread of a machine whose file gives none: twice that of the one that was measured


def compare(before: Prediction, after: Prediction, spread: float | None) -> tuple[Word, str]:
    """Says whether the second is better than the first, and why, in a sentence that names ops.

    spread: how far the prediction may be off, as a share of what differs: of compute, of exposed transfers and of idle
    time each. None where nobody has measured it.
    """
    first, second = before.spent, after.spent
    change = second.time - first.time
    parts = {
        "exposed": second.exposed - first.exposed,
        "compute": second.compute - first.compute,
        "idle": second.idle - first.idle,
    }
    doubt = (UNMEASURED if spread is None else spread) * sum(map(abs, parts.values())) + NOISE * first.time + SHORT
    times = f"{duration(second.time)} instead of {duration(first.time)}"
    if abs(change) <= doubt:
        return "same", f"{times}, which the prediction cannot tell apart"
    part = max(parts, key=lambda name: parts[name] * (1 if change > 0 else -1))
    if part == "idle":
        why = f"the device waits for the host {duration(second.idle)} instead of {duration(first.idle)}"
    elif part == "exposed":
        why = _most(before.exposed(), after.exposed(), change, "is exposed for")
    else:
        why = _most(before.computed(), after.computed(), change, "takes")
    return ("worse" if change > 0 else "better"), f"{times}: {why}"


def duration(microseconds: float) -> str:
    """Gives a time with three digits: ``12.3 us``, ``1.23 ms``."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= 0.9995 * size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} us"


def _most(before: Mapping[Doing, float], after: Mapping[Doing, float], change: float, verb: str) -> str:
    """Says of the op whose time went the way of `change` most how long it takes."""
    sign = 1 if change > 0 else -1
    every = dict.fromkeys([*before, *after])
    doing = max(every, key=lambda each: sign * (after.get(each, 0.0) - before.get(each, 0.0)))
    if str(doing).startswith("kernels"):
        verb = verb.replace("takes", "take")
    return f"{doing} {verb} {duration(after.get(doing, 0.0))} instead of {duration(before.get(doing, 0.0))}"
