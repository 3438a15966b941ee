"""A sharding of HLO is written in the axes of a mesh, where they say it."""

from __future__ import annotations

import numpy as np
import pytest

from hloverlap.passes.mlir.meshes import Mesh
from hloverlap.pipeline.partition.question import TiledSharding
from hloverlap.pipeline.partition.shardings import spelled

IN_ORDER = Mesh({"a": 2, "b": 4}, tuple(range(8)))
GRID = np.arange(8).reshape(2, 4)


def tiled(*tiles: int, devices: np.ndarray) -> TiledSharding:
    return TiledSharding(tiles, tuple(devices.flatten().tolist()))


@pytest.mark.parametrize(
    ("sharding", "wanted"),
    [
        (TiledSharding(()), "[{}, {}]"),
        (tiled(2, 4, devices=GRID), '[{"a"}, {"b"}]'),
        (tiled(8, 1, devices=GRID), '[{"a", "b"}, {}]'),
        (tiled(1, 8, devices=GRID.T), '[{}, {"b", "a"}]'),
        (tiled(4, 1, devices=GRID.T), '[{"b"}, {}]'),  # two devices hold each tile
        (tiled(2, 2, devices=GRID.reshape(2, 2, 2)), '[{"a"}, {"b":(1)2}]'),
        (tiled(2, 1, devices=GRID.reshape(2, 2, 2).transpose(2, 0, 1)), '[{"b":(2)2}, {}]'),
        (tiled(2, 4, devices=GRID[:, [1, 0, 2, 3]]), None),
    ],
)
def test_tiles_are_axes(sharding: TiledSharding, wanted: str | None) -> None:
    assert spelled(sharding, 2, IN_ORDER) == wanted


def test_the_mesh_may_have_its_devices_in_any_order() -> None:
    order = np.array([3, 1, 2, 0, 7, 5, 6, 4])
    mesh = Mesh({"a": 2, "b": 4}, tuple(order.tolist()))
    assert spelled(tiled(2, 4, devices=order), 2, mesh) == '[{"a"}, {"b"}]'
    assert spelled(tiled(2, 4, devices=GRID), 2, mesh) is None


def test_axes_of_other_primes() -> None:
    mesh = Mesh({"a": 6}, tuple(range(6)))
    assert spelled(tiled(2, 3, devices=np.arange(6)), 2, mesh) == '[{"a":(1)2}, {"a":(2)3}]'
    assert spelled(tiled(6, 1, devices=np.arange(6)), 2, mesh) == '[{"a"}, {}]'
