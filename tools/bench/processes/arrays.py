"""Moves many small arrays between two processes by hloverlap's device_put, and by jax.device_put over its sockets.

    python -m hloverlap.tools.bench.processes.arrays [--runs 50]

First the time of both, taken in turn; then whether ours is right in every run with four device groups and both
directions at once, which jax.device_put is not asked: it gives wrong arrays there, or waits for ever.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from hloverlap.pipeline.children import process_group
from hloverlap.pipeline.children.process_group import LaunchError, elapsed, launch

_MODULE = "hloverlap.tools.bench.processes.arrays"
_ARRAYS, _ELEMENTS, _GROUPS = 64, 256, 4  # float32: 1 KiB a device
_SECONDS = 300.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command: 0; 1 where a process failed; 2 for bad arguments; 3 where an array was wrong."""
    parser = argparse.ArgumentParser(
        prog="bench.processes.arrays", description="Time many small arrays between processes."
    )
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="with four device groups (default: 50)")
    given = parser.parse_args(argv)
    try:
        found = measure(given.runs)
    except LaunchError as error:
        print(f"bench.processes.arrays: error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found, indent=1))
    return 0 if found["right"] == given.runs and all(found[layout]["equal"] for layout in LAYOUTS) else 3


LAYOUTS = ("one device", "four devices")


def measure(runs: int) -> dict[str, Any]:
    """Gives for each layout the medians in milliseconds, their ratio and whether results are equal.

    It also counts the runs that were right. Raises LaunchError.
    """
    said = launch(_MODULE, {"runs": runs}, 2, _GROUPS, _SECONDS, sockets=True)
    found: dict[str, Any] = {"arrays": _ARRAYS, "bytes": 4 * _ELEMENTS, "runs": runs}
    for layout in LAYOUTS:
        each = [one[0][layout] for one in said]
        seconds = {
            name: [elapsed(turn) for turn in zip(*(one[name] for one in each), strict=True)] for name in ("jax", "ours")
        }
        found[layout] = {f"{name} ms": round(1e3 * statistics.median(taken), 2) for name, taken in seconds.items()}
        ratios = [jax / ours for jax, ours in zip(seconds["jax"], seconds["ours"], strict=True)]
        found[layout] |= {"ratio": round(statistics.median(ratios), 2), "equal": all(one["equal"] for one in each)}
    found["right"] = min(one[1]["right"] for one in said)
    return found


def _worker() -> None:
    order = process_group.join()
    import jax
    from jax.sharding import SingleDeviceSharding

    from hloverlap import pipeline

    devices = jax.devices()
    here, there = devices[:_GROUPS], devices[_GROUPS:]
    sharded = _sharding(here), _sharding(there)
    single = SingleDeviceSharding(here[0]), SingleDeviceSharding(there[0])
    timed = {name: _timed(*way) for name, way in zip(LAYOUTS, (single, sharded), strict=True)}
    process_group.say(timed)

    ways = [*zip(here, there, strict=True), *zip(there, here, strict=True)]
    arrays = [_array(n, SingleDeviceSharding(ways[n % len(ways)][0])) for n in range(_ARRAYS)]
    targets = [SingleDeviceSharding(ways[n % len(ways)][1]) for n in range(_ARRAYS)]
    process_group.say({"right": sum(_are_right(pipeline.device_put(arrays, targets)) for _ in range(order["runs"]))})


def _timed(source: Any, target: Any, rounds: int = 15) -> dict[str, Any]:
    """Notes when each round after two began and ended."""
    import jax

    from hloverlap import pipeline

    arrays = jax.block_until_ready([_array(n, source) for n in range(_ARRAYS)])
    puts: dict[str, Callable[..., Any]] = {"jax": jax.device_put, "ours": pipeline.device_put}
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in puts}
    equal = True
    for number in range(rounds):
        for name in sorted(puts, reverse=bool(number % 2)):
            # Before and after, and by no collective: with jax 0.10.2 one that begins while the sockets still send waits
            # for ever.
            process_group.meet(f"before {name} {number} {target}", _SECONDS)
            start = time.monotonic()
            moved = jax.block_until_ready(puts[name](arrays, [target] * _ARRAYS))
            samples[name].append((start, time.monotonic()))
            process_group.meet(f"after {name} {number} {target}", _SECONDS)
            equal = equal and _are_right(moved)
    return {**{name: taken[2:] for name, taken in samples.items()}, "equal": equal}


def _sharding(devices: Sequence[Any]) -> Any:
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    return NamedSharding(Mesh(np.array(devices), ("device",)), PartitionSpec("device"))


def _array(number: int, sharding: Any) -> Any:
    """Makes an array of 1 KiB of its number on each device."""
    import jax
    import numpy as np

    shape = (_ELEMENTS * sharding.num_devices,)
    part = np.full(_ELEMENTS, number, np.float32)
    return jax.make_array_from_callback(shape, sharding, lambda _: part, dtype=part.dtype)


def _are_right(arrays: Sequence[Any]) -> bool:
    """Says whether each array holds its number, as far as it is on this process."""
    import numpy as np

    return all(
        bool((np.asarray(shard.data) == number).all())
        for number, array in enumerate(arrays)
        for shard in array.addressable_shards
    )


if __name__ == "__main__":
    if process_group.is_launched():
        _worker()
    else:
        sys.exit(main())
