"""Which device sends what to which, against a simulation that moves numbers instead of arrays."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hloverlap.pipeline.transfers.planning import ArrayBoxes, Box, Slot, chunks, plan

HOST = [0, 0, 0, 0, 1, 1, 1, 1]
SIZE = 12


def cut(devices: list[int], parts: int) -> dict[int, Box]:
    """An array of SIZE elements in so many parts, each on as many devices as there are."""
    length = SIZE // parts
    return {d: ((n % parts * length, (n % parts + 1) * length),) for n, d in enumerate(devices)}


def boxes(source: dict[int, Box], target: dict[int, Box], dtype: str = "float32") -> ArrayBoxes:
    return ArrayBoxes(dtype, 4, source, target)


def moved(slots: list[Slot], arrays: list[ArrayBoxes]) -> list[dict[int, np.ndarray]]:
    """What each device of each leaf's target holds after all rounds of all slots."""
    whole = [np.arange(SIZE) + 100 * n for n in range(len(arrays))]
    found: list[dict[int, np.ndarray]] = [{} for _ in arrays]
    for slot in slots:
        held = {d: whole[n][slice(*arrays[n].source[d][0])] for d, n in slot.source.items()}
        result = {d: np.full(slot.target_shape, -1) for d in slot.target}
        for round in slot.rounds:
            assert len({move.source for move in round.moves}) == len(round.moves), "a device sends twice"
            assert len({move.target for move in round.moves}) == len(round.moves), "a device receives twice"
            for move in round.moves:
                (start,), (stop,) = move.source_offset, move.target_offset
                (length,) = move.shape
                result[move.target][stop : stop + length] = held[move.source][start : start + length]
        for device, number in slot.target.items():
            found[number][device] = result[device]
    return found


@st.composite
def some_boxes(draw: st.DrawFn) -> ArrayBoxes:
    def side() -> dict[int, Box]:
        devices = draw(st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True))
        return cut(devices, draw(st.sampled_from([n for n in (1, 2, 3, 4, 6) if n <= len(devices)])))

    return boxes(side(), side(), draw(st.sampled_from(["float32", "int8"])))


@given(st.lists(some_boxes(), min_size=1, max_size=6))
def test_every_part_arrives_where_it_shall_be(arrays: list[ArrayBoxes]) -> None:
    for number, shards in enumerate(moved(plan(arrays, HOST), arrays)):
        whole = np.arange(SIZE) + 100 * number
        assert shards.keys() == arrays[number].target.keys()
        for device, shard in shards.items():
            np.testing.assert_array_equal(shard, whole[slice(*arrays[number].target[device][0])])


def pair_sets(slots: list[Slot]) -> list[tuple[tuple[int, int], ...]]:
    return list(dict.fromkeys(round.pairs for slot in slots for round in slot.rounds if round.pairs))


def test_whole_shards_from_host_to_host_take_one_set_of_pairs() -> None:
    move = boxes(cut([0, 1, 2, 3], 4), cut([4, 5, 6, 7], 4))
    assert pair_sets(plan([move] * 50, HOST)) == [((0, 4), (1, 5), (2, 6), (3, 7))]


def test_groups_of_devices_and_both_directions_share_slots() -> None:
    ways = [(0, 4), (5, 1), (2, 6), (7, 3)]
    arrays = [boxes(cut([source], 1), cut([target], 1)) for source, target in ways * 16]
    slots = plan(arrays, HOST)
    assert len(slots) == 16
    assert pair_sets(slots) == [((0, 4), (2, 6), (5, 1), (7, 3))]


def test_slots_are_not_shared_where_that_makes_more_sets_of_pairs() -> None:
    """Of two sizes each, one group has one array and the other two: shared, the sets would be {a, b}, {a} and {b}."""
    a, b = (cut([0], 1), cut([4], 1)), (cut([1], 1), cut([5], 1))
    arrays = [boxes(*a), boxes(*a), boxes(*b), boxes(*a, "int8"), boxes(*b, "int8"), boxes(*b, "int8")]
    assert pair_sets(plan(arrays, HOST)) == [((0, 4),), ((1, 5),)]


def test_replicas_share_the_sending() -> None:
    slots = plan([boxes(cut([0, 1, 2, 3], 1), cut([4, 5, 6, 7], 1))], HOST)
    assert len(pair_sets(slots)) == 1
    assert len({source for source, _ in pair_sets(slots)[0]}) == 4


def test_what_a_device_has_it_does_not_get_from_elsewhere() -> None:
    (slot,) = plan([boxes(cut([0, 4], 1), cut([4, 5], 1))], HOST)
    assert {(move.source, move.target) for round in slot.rounds for move in round.moves} == {(4, 4), (4, 5)}


def test_chunks_keep_the_order_and_the_limit() -> None:
    slots = plan([boxes(cut([0], 1), cut([4], 1))] * 10, HOST)
    size = slots[0].bytes
    parts = chunks(slots, 3 * size)
    assert [len(part) for part in parts] == [3, 3, 3, 1]
    assert list(itertools.chain(*parts)) == slots
    assert [len(part) for part in chunks(slots, 1)] == [1] * 10
