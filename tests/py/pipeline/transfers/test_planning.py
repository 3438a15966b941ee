"""Which device sends what to which, against a simulation that moves numbers instead of arrays."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hloverlap.pipeline.transfers.planning import Box, Lane, Leaf, chunks, lanes

HOST = [0, 0, 0, 0, 1, 1, 1, 1]
SIZE = 12


def cut(devices: list[int], parts: int) -> dict[int, Box]:
    """An array of SIZE elements in so many parts, each on as many devices as there are."""
    length = SIZE // parts
    return {d: ((n % parts * length, (n % parts + 1) * length),) for n, d in enumerate(devices)}


def leaf(source: dict[int, Box], target: dict[int, Box], dtype: str = "float32") -> Leaf:
    return Leaf(dtype, 4, source, target)


def moved(plan: list[Lane], leaves: list[Leaf]) -> list[dict[int, np.ndarray]]:
    """What each device of each leaf's target holds after all rounds of all lanes."""
    whole = [np.arange(SIZE) + 100 * n for n in range(len(leaves))]
    found: list[dict[int, np.ndarray]] = [{} for _ in leaves]
    for lane in plan:
        held = {d: whole[n][slice(*leaves[n].source[d][0])] for d, n in lane.source.items()}
        result = {d: np.full(lane.target_shape, -1) for d in lane.target}
        for round in lane.rounds:
            assert len({move.source for move in round.moves}) == len(round.moves), "a device sends twice"
            assert len({move.target for move in round.moves}) == len(round.moves), "a device receives twice"
            for move in round.moves:
                (start,), (stop,) = move.source_offset, move.target_offset
                (length,) = move.shape
                result[move.target][stop : stop + length] = held[move.source][start : start + length]
        for device, number in lane.target.items():
            found[number][device] = result[device]
    return found


@st.composite
def some_leaf(draw: st.DrawFn) -> Leaf:
    def side() -> dict[int, Box]:
        devices = draw(st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True))
        return cut(devices, draw(st.sampled_from([n for n in (1, 2, 3, 4, 6) if n <= len(devices)])))

    return leaf(side(), side(), draw(st.sampled_from(["float32", "int8"])))


@given(st.lists(some_leaf(), min_size=1, max_size=6))
def test_every_part_arrives_where_it_shall_be(leaves: list[Leaf]) -> None:
    for number, shards in enumerate(moved(lanes(leaves, HOST), leaves)):
        whole = np.arange(SIZE) + 100 * number
        assert shards.keys() == leaves[number].target.keys()
        for device, shard in shards.items():
            np.testing.assert_array_equal(shard, whole[slice(*leaves[number].target[device][0])])


def pair_sets(plan: list[Lane]) -> list[tuple[tuple[int, int], ...]]:
    return list(dict.fromkeys(round.pairs for lane in plan for round in lane.rounds if round.pairs))


def test_whole_shards_from_host_to_host_take_one_set_of_pairs() -> None:
    move = leaf(cut([0, 1, 2, 3], 4), cut([4, 5, 6, 7], 4))
    assert pair_sets(lanes([move] * 50, HOST)) == [((0, 4), (1, 5), (2, 6), (3, 7))]


def test_groups_of_devices_and_both_directions_share_lanes() -> None:
    ways = [(0, 4), (5, 1), (2, 6), (7, 3)]
    leaves = [leaf(cut([source], 1), cut([target], 1)) for source, target in ways * 16]
    plan = lanes(leaves, HOST)
    assert len(plan) == 16
    assert pair_sets(plan) == [((0, 4), (2, 6), (5, 1), (7, 3))]


def test_lanes_are_not_shared_where_that_makes_more_sets_of_pairs() -> None:
    """Of two sizes each, one group has one array and the other two: shared, the sets would be {a, b}, {a} and {b}."""
    a, b = (cut([0], 1), cut([4], 1)), (cut([1], 1), cut([5], 1))
    leaves = [leaf(*a), leaf(*a), leaf(*b), leaf(*a, "int8"), leaf(*b, "int8"), leaf(*b, "int8")]
    assert pair_sets(lanes(leaves, HOST)) == [((0, 4),), ((1, 5),)]


def test_replicas_share_the_sending() -> None:
    plan = lanes([leaf(cut([0, 1, 2, 3], 1), cut([4, 5, 6, 7], 1))], HOST)
    assert len(pair_sets(plan)) == 1
    assert len({source for source, _ in pair_sets(plan)[0]}) == 4


def test_what_a_device_has_it_does_not_get_from_elsewhere() -> None:
    (lane,) = lanes([leaf(cut([0, 4], 1), cut([4, 5], 1))], HOST)
    assert {(move.source, move.target) for round in lane.rounds for move in round.moves} == {(4, 4), (4, 5)}


def test_chunks_keep_the_order_and_the_limit() -> None:
    plan = lanes([leaf(cut([0], 1), cut([4], 1))] * 10, HOST)
    size = plan[0].bytes
    parts = chunks(plan, 3 * size)
    assert [len(part) for part in parts] == [3, 3, 3, 1]
    assert list(itertools.chain(*parts)) == plan
    assert [len(part) for part in chunks(plan, 1)] == [1] * 10
