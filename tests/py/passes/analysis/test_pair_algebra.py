"""Pairs against a model of a permute in NumPy: a device gets what its source had, or zeros."""

from __future__ import annotations

import hypothesis
import numpy as np
from hypothesis import strategies
from numpy.typing import NDArray

from generation.pairs import Pairs, pairs
from hloverlap.passes.analysis.permutes import are_disjoint, compose

DEVICES = 5
Values = NDArray[np.int64]
HELD = np.arange(1, DEVICES + 1)  # what each device has at first: nobody has a zero


def permute(chosen: Pairs, held: Values) -> Values:
    """What each device has after a permute."""
    received = np.zeros_like(held)
    for source, target in chosen:
        received[target] = held[source]
    return received


@hypothesis.given(strategies.lists(pairs(DEVICES), min_size=2, max_size=4))
def test_composed_pairs_do_what_one_permute_after_the_other_does(steps: list[Pairs]) -> None:
    one_by_one = HELD
    composed: Pairs = [(device, device) for device in range(DEVICES)]
    for step in steps:
        one_by_one = permute(step, one_by_one)
        composed = list(compose(composed, step))
    assert permute(composed, HELD).tolist() == one_by_one.tolist()
    assert composed == sorted(composed)
    assert len(composed) <= min(map(len, steps))  # never more data


@hypothesis.given(pairs(DEVICES), pairs(DEVICES))
def test_disjoint_pairs_are_one_permute_of_what_each_source_sends(some: Pairs, others: Pairs) -> None:
    together = [*some, *others]
    is_permute = all(len({pair[end] for pair in together}) == len(together) for end in (0, 1))
    assert are_disjoint(some, others) == is_permute
    if is_permute:
        other_held = 10 * HELD
        sources, targets = ([pair[end] for pair in others] for end in (0, 1))
        sent = np.where(np.isin(np.arange(DEVICES), sources), other_held, HELD)
        received = permute(together, sent)
        is_target = np.isin(np.arange(DEVICES), targets)
        assert np.where(is_target, received, 0).tolist() == permute(others, other_held).tolist()
        assert np.where(np.isin(np.arange(DEVICES), [target for _, target in some]), received, 0).tolist() == (
            permute(some, HELD).tolist()
        )
