"""What a transfer's module is given: small arrays that go one way as one array, all others as they are."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, Sharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from jaxlib.mlir import ir

from hloverlap.passes.building import packing
from hloverlap.passes.mlir import types
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.dtypes import bits_of, is_float
from hloverlap.pipeline.transfers.payloads import Payload, payloads
from hloverlap.pipeline.transfers.routes import TransferSpec
from hloverlap.pipeline.transfers.transfer_module import packed_dtype

KIB = 1 << 10
DTYPES = (
    *(np.float64, np.float32, ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    *(np.int32, np.uint8, ml_dtypes.int4, ml_dtypes.uint4, np.bool_, np.complex64),
)


def grid(first: int, *axes: str, kind: AxisType = AxisType.Auto) -> Mesh:
    """Four devices from this one on, along one axis or two."""
    devices = np.array(jax.devices()[first : first + 4]).reshape((4,) if len(axes) == 1 else (2, 2))
    return Mesh(devices, axes, axis_types=(kind,) * len(axes))


HERE, THERE = grid(0, "x"), grid(4, "x")
ROWS = NamedSharding(HERE, P("x")), NamedSharding(THERE, P("x"))


def path(shape: tuple[int, ...], way: tuple[Sharding, Sharding] = ROWS, dtype: Any = np.float32) -> TransferSpec:
    return TransferSpec(shape, np.dtype(dtype), *way, False)


def members(paths: list[TransferSpec], most_bytes: int = 64 << 20) -> list[list[int]]:
    return [list(payload.members) for payload in payloads(paths, most_bytes)]


def moved(payload: Payload, arrays: list[jax.Array]) -> list[jax.Array]:
    """What a transfer does: each target device gets the shard of a source device that the plan says is the same."""
    boxes = payload.boxes({device: number for number, device in enumerate(jax.devices())})
    holder = {box: device for device, box in boxes.source.items()}
    shards = payload.pack([arrays[number] for number in payload.members])
    arrived = []
    for device, _ in sorted(payload.shards[1].items(), key=lambda entry: entry[1]):
        source = jax.devices()[holder[boxes.target[jax.devices().index(device)]]]
        arrived.append(jax.device_put(shards[payload.shards[0][source]], device))
    return list(payload.unpack(arrived))


def test_small_arrays_of_one_way_and_dtype_are_one_payload() -> None:
    paths = [path((8, 4)), path((16,), dtype=np.int8), path((4,)), path((8,), ROWS[::-1]), path((4,), dtype=np.int8)]
    assert members(paths) == [[0, 2], [1, 4], [3]]


def test_large_arrays_stay_apart() -> None:
    assert members([path((64 * KIB,)), path((64 * KIB + 4,)), path((4,)), path((1 << 20,))]) == [[0, 2], [1], [3]]


def test_arrays_that_are_cut_anew_stay_apart() -> None:
    columns = ROWS[0], NamedSharding(THERE, P(None, "x"))
    replicas = ROWS[0], NamedSharding(THERE, P())
    assert members([path((8, 4), columns)] * 2 + [path((8, 4), replicas)] * 2) == [[0], [1], [2], [3]]


def test_a_payload_holds_at_most_so_much() -> None:
    assert members([path((KIB,))] * 5, most_bytes=2 * KIB) == [[0, 1], [2, 3], [4]]
    assert members([path((KIB,))] * 2, most_bytes=1) == [[0], [1]]


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_all_bits_of_all_layouts_come_back(dtype: Any, kind: AxisType) -> None:
    random = np.random.default_rng(7)
    with jax.enable_x64(True):
        for way in _ways(kind):
            shapes = (
                [(8, 4), (4, 8, 3), (4, 4)] if any(getattr(side, "spec", ()) for side in way) else [(8, 4), (), (3,)]
            )
            values = [_bits(random, shape, dtype) for shape in shapes]
            arrays = [jax.make_array_from_callback(v.shape, way[0], lambda i, v=v: v[i], dtype=v.dtype) for v in values]
            (payload,) = payloads([path(shape, way, dtype) for shape in shapes], 64 << 20)
            for found, value in zip(moved(payload, arrays), values, strict=True):
                assert (found.shape, found.dtype, found.sharding) == (value.shape, value.dtype, way[1])
                for shard in found.addressable_shards:
                    assert np.asarray(shard.data).tobytes() == np.ascontiguousarray(value[shard.index]).tobytes()


def _ways(kind: AxisType) -> list[tuple[Sharding, Sharding]]:
    """Cut alike on both sides, replicated on both, one device, one device to replicas, two axes of which one cuts."""
    ends = (
        (grid(0, "x", kind=kind), grid(4, "x", kind=kind)),
        (grid(0, "a", "b", kind=kind), grid(4, "a", "b", kind=kind)),
    )
    sides = [[NamedSharding(mesh, spec) for mesh in line] for line, spec in zip(ends, (P("x"), P("b")), strict=True)]
    single = SingleDeviceSharding(jax.devices()[1]), SingleDeviceSharding(jax.devices()[6])
    whole = NamedSharding(ends[0][0], P()), NamedSharding(ends[0][1], P())
    return [*map(tuple, sides), whole, single, (single[0], whole[1]), (whole[0], single[1])]  # type: ignore[list-item]


def _bits(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    size = int(np.prod(shape, dtype=int))
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        return random.integers(0, 8, shape).astype(dtype)
    return np.frombuffer(random.bytes(size * np.dtype(dtype).itemsize), dtype).reshape(shape)


def test_every_array_is_in_one_payload() -> None:
    paths = [
        path((4 * n,), way, dtype) for n, way, dtype in itertools.product((1, 1 << 18), (ROWS, ROWS[::-1]), DTYPES)
    ]
    assert sorted(itertools.chain(*members(paths))) == list(range(len(paths)))


@pytest.mark.parametrize("dtype", DTYPES[:-1], ids=lambda dtype: np.dtype(dtype).name)  # complex arrays are two to MLIR
def test_what_is_packed_here_and_by_the_passes_is_made_of_the_same_bits(dtype: Any) -> None:
    with jax.enable_x64(True):
        text = jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct((4,), dtype)).as_text()
        here = packed_dtype(np.dtype(dtype))
    module = ir.Module.parse(text, make_context())
    element = types.element_of(module.body.operations[0].type.inputs[0])
    stored = packing._stored(element)
    assert types.bits_of(stored) == bits_of(here)
    assert isinstance(stored, ir.IntegerType) == (not is_float(here))
    if dtype is not np.bool_:  # a byte in either case, which jnp need not say
        assert (stored == element) == (here == np.dtype(dtype))
