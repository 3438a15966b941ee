"""Runs in each process that the benchmark starts: compiles, times and compares, in step with the others."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hloverlap import pipeline
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.pipeline.children import process_group
from hloverlap.tools.bench.processes.cases import Case, Program

APART = "apart"
VARIANTS: Mapping[str, str] = {
    APART: "",
    "concat": "merge-cross-host-transfers{strategy=concat max-bytes=1073741824}",
    "group": "merge-cross-host-transfers{strategy=group max-bytes=1073741824}",
    "auto": "merge-cross-host-transfers",
}
_ROUNDS = (5, 500)  # the ratio of one round of a case of a few milliseconds varies by three quarters
_SECONDS = 120.0  # after which a process that does not come is given up

Call = Callable[..., Any]
Span = tuple[float, float]


class Together:
    """Lets the processes agree, by a collective of their own."""

    def __init__(self) -> None:
        self._sharding = NamedSharding(Mesh(np.array(jax.devices()), ("device",)), PartitionSpec("device"))
        self._max = jax.jit(lambda x: x.max(), out_shardings=NamedSharding(self._sharding.mesh, PartitionSpec()))
        self._met = 0

    def meet(self) -> None:
        """Waits for all, by no collective: after one, the processes go on milliseconds apart, while its threads end."""
        self._met += 1
        process_group.meet(f"time {self._met}", _SECONDS)

    def largest(self, value: float) -> float:
        """Gives the largest of the processes' values; nobody goes on before all have come here."""
        held = jax.make_array_from_callback(
            (jax.device_count(),), self._sharding, lambda _: np.array([value], np.float32)
        )
        return float(self._max(held))


def main() -> None:
    """Measures what the order says, and says each result."""
    order = process_group.join()
    together = Together()
    started = time.monotonic()
    for number, fields in enumerate(order["cases"]):
        left = order["seconds"] - together.largest(time.monotonic() - started)
        if left < 0:
            process_group.say({"case": fields, "left_out": "out of time"})
        else:
            share = left / (len(order["cases"]) - number)
            process_group.say({"case": fields, **_measure(Case(**fields), together, share)})


def _measure(case: Case, together: Together, seconds: float) -> dict[str, Any]:
    """Measures a case in about so many seconds, of which compiling is a part."""
    began = time.monotonic()
    program = Program(case, jax.devices())
    lowered = program.lower()
    calls: dict[str, Call] = {}
    same_as: dict[str, str] = {}
    modules: dict[bytes, str] = {}
    for name, text in VARIANTS.items():
        rewritten = pipeline.compile(lowered, text) if text else None
        module = bytecode(rewritten.result.module) if rewritten and rewritten.result.changed else b""
        same_as[name] = modules.setdefault(module, name)
        if same_as[name] == name:
            calls[name] = rewritten if rewritten else lowered.compile()
    arguments = program.arguments()
    results = {name: jax.block_until_ready(call(*arguments)) for name, call in calls.items()}
    equal = {name: _bits(results[name]) == _bits(results[APART]) for name in calls}
    del results
    samples = _in_turn(calls, arguments, together, seconds - together.largest(time.monotonic() - began))
    return {
        "samples": {name: samples[same_as[name]] for name in VARIANTS},
        "equal": {name: equal[same_as[name]] for name in VARIANTS},
        "same_as": same_as,
    }


def _bits(arrays: Sequence[jax.Array]) -> list[bytes]:
    """Gives what this process holds."""
    return [np.asarray(shard.data).tobytes() for array in arrays for shard in array.addressable_shards]


def _in_turn(
    calls: Mapping[str, Call], arguments: Sequence[jax.Array], together: Together, seconds: float
) -> dict[str, list[Span]]:
    """Notes when each call began and ended, once a round, in an order drawn for the round; in about so many seconds."""
    names = list(calls)
    order = random.Random(0)  # the same on all processes

    def sample(name: str) -> Span:
        together.meet()
        start = time.monotonic()
        jax.block_until_ready(calls[name](*arguments))
        return start, time.monotonic()

    began = time.monotonic()
    for name in names:
        sample(name)
    once = together.largest(time.monotonic() - began)
    rounds = int(max(_ROUNDS[0], min(_ROUNDS[1], seconds / once)))
    samples: dict[str, list[Span]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in order.sample(names, len(names)):
            samples[name].append(sample(name))
    return samples


if __name__ == "__main__":
    main()
