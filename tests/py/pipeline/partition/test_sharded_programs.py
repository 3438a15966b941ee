"""Random sharded programs give with `partition` what they give without, in the same shardings.

pytest tests/py/pipeline/partition                                  a few, always the same ones
pytest tests/py/pipeline/partition --examples=5000 --seed=7         a campaign of a twentieth as many
"""

from __future__ import annotations

import collections
import warnings

import jax
import numpy as np
import pytest

from generation import sharded_programs
from hloverlap import pipeline

PIPELINE = "partition,overlap"


def test_the_same_bits_shardings_and_donation(request: pytest.FixtureRequest) -> None:
    count = max(2, request.config.getoption("--examples") // 20)
    first = 1000 * request.config.getoption("--seed")
    ways: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        program = sharded_programs.make(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jax's on donation that comes to nothing
            given, again = program.arguments(), program.arguments()
            try:
                wanted = jax.jit(program.function, **program.options)(*given)
            except (ValueError, TypeError):  # jax refuses it
                continue
            with pipeline.enabled(PIPELINE, strict=True) as log:
                got = jax.jit(program.function, **program.options)(*again)
        for one, other in zip(wanted, got, strict=True):
            assert one.sharding == other.sharding, (seed, program.steps)
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), (seed, program.steps)
        assert [_is_deleted(each) for each in given] == [_is_deleted(each) for each in again], (seed, program.steps)
        remarks = [each.message for record in log for each in record.remarks if each.code == "PAR002"]
        ways[remarks[0] if remarks else "partitioned"] += 1
    print(ways.most_common())  # the table of a campaign
    assert ways["partitioned"] >= 0.95 * ways.total() > 0


def _is_deleted(argument: object) -> bool:
    return isinstance(argument, jax.Array) and argument.is_deleted()
