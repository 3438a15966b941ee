"""device_put among two real processes of four devices each, joined by gloo, and within one process."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from hloverlap.pipeline import device_put
from hloverlap.pipeline.children.process_group import launch

TESTS = pathlib.Path(__file__).resolve().parents[2]
# How often the case is run that jax.device_put gets wrong most of the time; set it to 50 to be sure.
RUNS = int(os.environ.get("HLOVERLAP_TRANSFER_RUNS", "5"))
SCENARIOS = (
    "layouts",
    "groups",
    "hundreds",
    "chunks",
    "donation",
    "in_place",
    "from_host",
    "devices_as_targets",
    "errors",
    "disagreement",
)


@pytest.fixture(scope="module")
def said() -> list[dict[str, Any]]:
    """What each of the two processes found, by scenario."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        order = {"runs": RUNS, "scenarios": SCENARIOS}
        return [dict(each) for each in launch("support.device_put_worker", order, processes=2, devices=4, seconds=500)]


def test_every_layout_and_dtype_arrives_bit_for_bit(said: list[dict[str, Any]]) -> None:
    assert [each["layouts"] for each in said] == [[], []]


def test_four_device_groups_in_both_directions_are_right_every_time(said: list[dict[str, Any]]) -> None:
    for each in said:
        assert each["groups"] == {"right": RUNS, "permutes": 1}


def test_two_hundred_arrays_take_one_message_and_one_compile(said: list[dict[str, Any]]) -> None:
    for each in said:
        assert each["hundreds"] == {"right": [True, True], "compiles": 1, "permutes": 1}


def test_chunks_arrive_too(said: list[dict[str, Any]]) -> None:
    assert [each["chunks"] for each in said] == [True, True]


def test_donated_arrays_are_deleted_if_they_moved(said: list[dict[str, Any]]) -> None:
    """The first process held all but the third, which stayed; the second process only that one."""
    assert said[0]["donation"] == {"right": True, "deleted": [True, False, True, True]}
    assert said[1]["donation"] == {"right": True, "deleted": [False]}


def test_what_is_in_place_does_not_move(said: list[dict[str, Any]]) -> None:
    for each in said:
        assert each["in_place"] == [True, "", "", 0]


def test_processes_that_move_other_arrays_are_told_and_can_go_on(said: list[dict[str, Any]]) -> None:
    rule = "every process has to call it with the same structure, shapes, dtypes and shardings, in the same order"
    for number, each in enumerate(said):
        told = f"RuntimeError: device_put: process {1 - number} moves other arrays than process {number}; {rule}"
        assert each["disagreement"] == [told, ""]


def test_values_that_every_process_has(said: list[dict[str, Any]]) -> None:
    assert [each["from_host"] for each in said] == [["", "", ""]] * 2


def test_a_device_is_a_target_for_a_subtree(said: list[dict[str, Any]]) -> None:
    assert [each["devices_as_targets"] for each in said] == [["", ""]] * 2


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("divides", "ValueError: ['w'][0]: "),
        ("memory", "cannot change to kind pinned_host on the way"),
        ("no sharding", "TypeError: [0]: a str is no place to put it; give a Sharding or a Device"),
        ("no array", "TypeError: [0]: a str is no array"),
        ("tree", "ValueError: shardings: give one for all, or a tree that begins like that of the arrays"),
        ("chunk", "ValueError: chunk_bytes=0 lets nothing through; give at least 1"),
        ("deleted", "ValueError: [1]: the array was deleted or donated"),
        ("traced", "TypeError: the array: it is being traced"),
    ],
)
def test_what_cannot_be_done_is_said_on_every_process(said: list[dict[str, Any]], what: str, text: str) -> None:
    for each in said:
        assert text in each["errors"][what]
        assert "\n" not in each["errors"][what]


@pytest.mark.parametrize("where", ["on no device", "of one process", "of all processes"])
def test_random_keys_are_refused_alike_on_every_process(said: list[dict[str, Any]], where: str) -> None:
    refusal = "ValueError: ['key']: key<fry> is made of other arrays; move jax.random.key_data of it"
    assert [each["errors"][f"keys {where}"] for each in said] == [refusal, refusal]


class TestOneProcess:
    """Nothing to send: all is as jax.device_put does it."""

    mesh = Mesh(np.array(jax.devices()[:4]), ("x",))

    @pytest.mark.parametrize(
        "target", [NamedSharding(mesh, P("x")), NamedSharding(mesh, P()), SingleDeviceSharding(jax.devices()[5])]
    )
    def test_like_jax(self, target: jax.sharding.Sharding) -> None:
        tree = {"a": jax.numpy.arange(8.0), "b": (np.arange(4, dtype=np.int8), jax.numpy.ones((4, 2)))}
        ours, theirs = device_put(tree, target), jax.device_put(tree, target)
        assert jax.tree.structure(ours) == jax.tree.structure(theirs)
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert (one.dtype, one.sharding, one.committed) == (other.dtype, other.sharding, other.committed)
            np.testing.assert_array_equal(one, other)

    def test_donation_does_not_take_the_result_along(self) -> None:
        """A shard of the result may be the very buffer of the source."""
        source = jax.device_put(np.arange(8.0, dtype=np.float32), jax.devices()[0])
        found = device_put(source, NamedSharding(self.mesh, P()), donate=True)
        assert not source.is_deleted()
        np.testing.assert_array_equal(found, np.arange(8.0))
        moved = device_put(source, jax.devices()[3], donate=True)
        assert source.is_deleted()
        np.testing.assert_array_equal(moved, np.arange(8.0))

    def test_random_keys_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"move jax\.random\.key_data of it"):
            device_put(jax.random.key(0), NamedSharding(self.mesh, P()))

    def test_empty_tree(self) -> None:
        assert device_put({}, NamedSharding(self.mesh, P())) == {}
