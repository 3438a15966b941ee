"""Scenarios of device_put, run in real processes; each says its name and what it found."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, Sharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from hloverlap.pipeline import device_put
from hloverlap.pipeline.children import process_group
from hloverlap.pipeline.transfers import transfer
from hloverlap.pipeline.transfers.routes import TransferSpec

DTYPES = (
    np.float32,
    ml_dtypes.bfloat16,
    np.float16,
    ml_dtypes.float8_e4m3fn,
    np.int8,
    ml_dtypes.int4,
    np.bool_,
    np.complex64,
)
CHUNK = 64 << 20


class Scenarios:
    """here, there: meshes of the two processes' devices; both: of all, transposed."""

    def __init__(self, runs: int) -> None:
        self.runs = runs
        self.devices = jax.devices()
        self.half = len(self.devices) // 2
        self.here = Mesh(np.array(self.devices[: self.half]), ("x",))
        self.there = Mesh(np.array(self.devices[self.half :]), ("x",))
        self.both = Mesh(np.array(self.devices).reshape(2, self.half).T, ("d", "h"))

    def layouts(self) -> Any:
        """Any dtype, any bits, scalars, replicas, other cuts, both directions, more and fewer devices."""
        moves = list(self._moves())
        arrays = [array(value, source) for value, source, _ in moves]
        found = device_put(arrays, [target for *_, target in moves])
        return [why for one, (value, _, target) in zip(found, moves, strict=True) if (why := wrong(one, value, target))]

    def _moves(self) -> Iterator[tuple[np.ndarray, Sharding, Sharding]]:
        random = np.random.default_rng(0)
        for shape, dtype in itertools.product([(8, 4), (), (0, 4)], DTYPES):
            value = bits(random, shape, dtype)
            row, column = (P("x"), P(None, "x")) if shape else (P(), P())
            yield value, NamedSharding(self.here, row), NamedSharding(self.there, row)
            yield value, NamedSharding(self.there, P()), NamedSharding(self.here, P())
            yield value, self._single(1), self._single(self.half + 2)
            if dtype in (np.float32, ml_dtypes.bfloat16):
                yield value, NamedSharding(self.here, row), NamedSharding(self.there, column)
                yield value, NamedSharding(self.there, column), NamedSharding(self.here, P())
                yield value, NamedSharding(self.here, row), NamedSharding(self.both, P(("h", "d")) if shape else P())
                yield value, NamedSharding(self.both, P("h") if shape else P()), NamedSharding(self.here, row)
                yield value, self._single(self.half), NamedSharding(self.here, P())
        uneven = Mesh(np.array(self.devices[1:4]), ("x",)), Mesh(np.array([self.devices[n] for n in (6, 2)]), ("x",))
        for source, target in (uneven, uneven[::-1]):
            yield np.arange(12.0, dtype=np.float32), NamedSharding(source, P("x")), NamedSharding(target, P("x"))

    def groups(self) -> Any:
        """Four device groups, both directions at once: how many runs were right, and how many messages it took."""
        pairs = [*zip(range(self.half), range(self.half, 2 * self.half), strict=True)]
        ways = list(itertools.chain(*((pair, pair[::-1]) for pair in pairs)))
        values = [np.full(256, n, np.float32) for n in range(64)]
        sources, targets = ([self._single(ways[n % len(ways)][end]) for n in range(64)] for end in (0, 1))
        arrays = [array(value, source) for value, source in zip(values, sources, strict=True)]
        right = 0
        for _ in range(self.runs):
            found = device_put(arrays, targets)
            right += not any(map(wrong, found, values, targets))
        return {"right": right, "permutes": permutes(arrays, targets)}

    def hundreds(self) -> Any:
        """A tree of 200 arrays of mixed dtypes with one sharding for all: messages, and compiles of two calls."""
        source, target = NamedSharding(self.here, P("x")), NamedSharding(self.there, P("x"))
        dtypes = (np.float32, ml_dtypes.bfloat16, np.int8, np.int32)
        values = {f"layer{n}": np.full(self.half * 8, n % 100, dtypes[n % 4]) for n in range(200)}
        tree = {name: array(value, source) for name, value in values.items()}
        before = transfer.transfer.cache_info().misses
        right = []
        for _ in range(2):
            found = device_put(tree, target)
            right.append(found.keys() == values.keys() and not any(wrong(found[n], values[n], target) for n in values))
        compiles = transfer.transfer.cache_info().misses - before
        return {"right": right, "compiles": compiles, "permutes": permutes(list(tree.values()), [target] * 200)}

    def chunks(self) -> Any:
        """Ten arrays of 4 KiB a device, 10 KiB at a time."""
        source, target = NamedSharding(self.here, P("x")), NamedSharding(self.there, P("x"))
        values = [np.full(self.half * 1024, n, np.float32) for n in range(10)]
        found = device_put([array(value, source) for value in values], target, chunk_bytes=10 << 10)
        return not any(wrong(one, value, target) for one, value in zip(found, values, strict=True))

    def donation(self) -> Any:
        """Which are deleted: one that moved, one not donated, one that stays, one of other shards, one within."""
        source, target = NamedSharding(self.here, P("x")), NamedSharding(self.there, P("x"))
        near = self._single(0), self._single(1)
        value = np.arange(8 * self.half, dtype=np.float32)
        arrays = [array(value, s) for s in (source, source, target, source, near[0])]
        targets = [target, target, target, NamedSharding(self.there, P()), near[1]]
        mine = [one for one in arrays if one.addressable_shards]
        found = device_put(arrays, targets, donate=[True, False, True, True, True])
        right = not any(wrong(one, value, each) for one, each in zip(found, targets, strict=True))
        return {"right": right, "deleted": [one.is_deleted() for one in mine]}

    def in_place(self) -> Any:
        """What need not move: the same object, the same buffers by another name, a part of the replicas."""
        value = np.arange(8.0, dtype=np.float32)
        held = array(value, NamedSharding(self.here, P("x")))
        same = device_put(held, NamedSharding(self.here, P("x"))) is held
        renamed = NamedSharding(Mesh(np.array(self.devices[: self.half]), ("y",)), P("y"))
        replicas, fewer = array(value, NamedSharding(self.both, P())), NamedSharding(self.here, P())
        before = transfer.transfer.cache_info().misses
        found = device_put([held, replicas], [renamed, fewer])
        moved = transfer.transfer.cache_info().misses - before
        return [same, wrong(found[0], value, renamed), wrong(found[1], value, fewer), moved]

    def from_host(self) -> Any:
        """Values that every process has: numpy, a number, an array that is nowhere in particular."""
        target = NamedSharding(self.both, P())
        given = {"numpy": np.arange(4, dtype=np.int8), "number": 3, "loose": jax.numpy.arange(3)}
        found = device_put(given, target)
        return [wrong(found[name], np.asarray(jax.numpy.asarray(given[name])), target) for name in given]

    def devices_as_targets(self) -> Any:
        """A jax.Device in place of a sharding, for a subtree."""
        value = np.arange(4.0, dtype=np.float32)
        tree = {"a": [array(value, self._single(0)), array(value, self._single(1))]}
        found = device_put(tree, {"a": self.devices[-1]})
        return [wrong(one, value, self._single(-1)) for one in found["a"]]

    def errors(self) -> Any:
        """Messages, by what is wrong."""
        across = NamedSharding(self.there, P("x"))
        here = array(np.zeros(8, np.float32), NamedSharding(self.here, P("x")))
        gone = array(np.zeros(8, np.float32), self._single(-1 if jax.process_index() else 0))
        gone.delete()
        host = NamedSharding(self.there, P("x"), memory_kind="pinned_host")
        odd = array(np.zeros(3, np.float32), NamedSharding(self.here, P()))
        keys = jax.random.split(jax.random.key(0), self.half)
        everywhere = jax.jit(lambda: keys, out_shardings=NamedSharding(self.both, P()))()
        calls: dict[str, Callable[[], Any]] = {
            "divides": lambda: device_put({"w": [odd]}, across),
            "memory": lambda: device_put(here, host),
            "deleted": lambda: device_put([here, gone], across),
            "no sharding": lambda: device_put([here], "gpu"),
            "no array": lambda: device_put(["text"], across),
            "tree": lambda: device_put([here, here], [across]),
            "chunk": lambda: device_put(here, across, chunk_bytes=0),
            "traced": lambda: jax.jit(lambda x: device_put(x, across))(np.zeros(8, np.float32)),
            "keys on no device": lambda: device_put({"w": np.zeros(8), "key": keys}, across),
            "keys of one process": lambda: device_put({"w": np.zeros(8), "key": self._keys()}, across),
            "keys of all processes": lambda: device_put({"w": np.zeros(8), "key": everywhere}, across),
        }
        return {name: message(call) for name, call in calls.items()}

    def _keys(self) -> jax.Array:
        """Random keys on the devices of process 0; process 1 holds the array and no part of it."""
        keys, sharding = jax.random.split(jax.random.key(0), self.half), NamedSharding(self.here, P("x"))
        if jax.process_index() == 0:
            return jax.device_put(keys, sharding)
        return jax.make_array_from_single_device_arrays(keys.shape, sharding, [], dtype=keys.dtype)

    def disagreement(self) -> Any:
        """Process 0 moves 8 numbers where process 1 moves 16, then both move the same."""
        source, target = NamedSharding(self.here, P("x")), NamedSharding(self.there, P("x"))
        value = np.arange(8.0 * (1 + jax.process_index()), dtype=np.float32)
        said = message(lambda: device_put(array(value, source), target))
        value = np.arange(24.0, dtype=np.float32)
        return [said, wrong(device_put(array(value, source), target), value, target)]

    def _single(self, device: int) -> Sharding:
        return SingleDeviceSharding(self.devices[device])


def bits(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Any bits, NaNs of all kinds among them, where every pattern is a value of the dtype."""
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    if dtype is ml_dtypes.int4:
        return random.integers(-8, 8, shape).astype(dtype)
    size = int(np.prod(shape, dtype=int))
    return np.frombuffer(random.bytes(size * np.dtype(dtype).itemsize), dtype).reshape(shape)


def array(value: np.ndarray, sharding: Sharding) -> jax.Array:
    """The value on devices, as far as they are this process's."""
    return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index], dtype=value.dtype)


def wrong(found: jax.Array, value: np.ndarray, sharding: Sharding) -> str:
    """What is wrong with an array, "" for nothing."""
    if (found.shape, found.dtype, found.sharding, found.committed) != (value.shape, value.dtype, sharding, True):
        return f"{found.dtype}{found.shape} {found.sharding} instead of {value.dtype}{value.shape} {sharding}"
    owners = {device for device in sharding.device_set if device.process_index == jax.process_index()}
    if {shard.device for shard in found.addressable_shards} != owners:
        return f"{sharding}: not all of the shards are there"
    for shard in found.addressable_shards:
        if np.asarray(shard.data).tobytes() != np.ascontiguousarray(value[shard.index]).tobytes():
            return f"{value.dtype}{value.shape} on {shard.device}: {shard.data} instead of {value[shard.index]}"
    return ""


def permutes(arrays: list[jax.Array], targets: list[Sharding]) -> int:
    """Messages of the module that moves these."""
    specs = tuple(TransferSpec(a.shape, a.dtype, a.sharding, t, False) for a, t in zip(arrays, targets, strict=True))
    (module,) = transfer.transfer(specs, CHUNK).modules
    return str(module.rewritten.result.module).count('"stablehlo.collective_permute"')


def message(call: Callable[[], Any]) -> str:
    """Of the error that a call raises."""
    try:
        call()
    except (TypeError, ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


if __name__ == "__main__":
    order = process_group.join()
    scenarios = Scenarios(order["runs"])
    for name in order["scenarios"]:
        process_group.say([name, getattr(scenarios, name)()])
