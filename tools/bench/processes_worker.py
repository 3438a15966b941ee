"""One of the processes that the benchmark starts: compiles, times and compares, in step with the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap import pipeline
from hloverlap.pipeline import running
from hloverlap.tools.bench import processes_launch
from hloverlap.tools.bench.processes_cases import Case, Program

APART = "apart"
VARIANTS: Mapping[str, str] = {
    APART: "",
    "concat": "merge-cross-host-transfers{strategy=concat max-bytes=1073741824}",
    "group": "merge-cross-host-transfers{strategy=group max-bytes=1073741824}",
    "auto": "merge-cross-host-transfers",
}
_ROUNDS = (5, 25)
_TIMED = 1.5  # seconds a case

Call = Callable[..., Any]


class Together:
    """What the processes agree on, by a collective of their own."""

    def __init__(self) -> None:
        self._sharding = NamedSharding(Mesh(np.array(jax.devices()), ("device",)), PartitionSpec("device"))
        self._max = jax.jit(lambda x: x.max(), out_shardings=NamedSharding(self._sharding.mesh, PartitionSpec()))

    def largest(self, value: float) -> float:
        """The largest of the processes' values; nobody goes on before all have come here."""
        held = jax.make_array_from_callback(
            (jax.device_count(),), self._sharding, lambda _: np.array([value], np.float32)
        )
        return float(self._max(held))


def main() -> None:
    """Measures what the order says, and says each result."""
    order = processes_launch.join()
    together = Together()
    started = time.monotonic()
    for fields in order["cases"]:
        case = Case(**fields)
        if together.largest(time.monotonic() - started) > order["seconds"]:
            processes_launch.say({"case": fields, "left_out": "out of time"})
        else:
            processes_launch.say({"case": fields, **_measure(case, together)})


def _measure(case: Case, together: Together) -> dict[str, Any]:
    program = Program(case, jax.devices())
    lowered = program.lower()
    calls: dict[str, Call] = {}
    same_as: dict[str, str] = {}
    modules: dict[bytes, str] = {}
    for name, text in VARIANTS.items():
        rewritten = pipeline.compile(lowered, text) if text else None
        module = running.bytecode(rewritten.result.module) if rewritten and rewritten.result.changed else b""
        same_as[name] = modules.setdefault(module, name)
        if same_as[name] == name:
            calls[name] = rewritten if rewritten else lowered.compile()
    arguments = program.arguments()
    results = {name: jax.block_until_ready(call(*arguments)) for name, call in calls.items()}
    equal = {name: _bits(results[name]) == _bits(results[APART]) for name in calls}
    del results
    samples = _in_turn(calls, arguments, together)
    return {
        "samples": {name: samples[same_as[name]] for name in VARIANTS},
        "equal": {name: equal[same_as[name]] for name in VARIANTS},
        "same_as": same_as,
    }


def _bits(arrays: Sequence[jax.Array]) -> list[bytes]:
    """What this process holds."""
    return [np.asarray(shard.data).tobytes() for array in arrays for shard in array.addressable_shards]


def _in_turn(calls: Mapping[str, Call], arguments: Sequence[jax.Array], together: Together) -> dict[str, list[float]]:
    """Seconds of each call, once a round, in another order each round; all processes start each at the same time."""
    names = list(calls)

    def sample(name: str) -> float:
        together.largest(0)
        start = time.perf_counter()
        jax.block_until_ready(calls[name](*arguments))
        return time.perf_counter() - start

    once = together.largest(sum(sample(name) for name in names))
    rounds = int(max(_ROUNDS[0], min(_ROUNDS[1], _TIMED / once)))
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            samples[name].append(sample(name))
    return samples


if __name__ == "__main__":
    main()
