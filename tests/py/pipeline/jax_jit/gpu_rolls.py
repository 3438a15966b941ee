"""Compiles automatic-sharding programs for eight H200 that are not there, and prints what became of their permutes.

    python gpu_rolls.py FOLDER CACHE [partitioner-permutes]

XLA is to dump into FOLDER (by XLA_FLAGS); CACHE is jax's persistent cache. Prints one JSON object a program: what the
entry says, the streams on which permutes start, and how many executables of it are in the cache.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import re
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap import pipeline
from hloverlap.passes.machine import targets
from hloverlap.tools import samples

FOLDER, CACHE, ASKED = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), "partitioner-permutes" in sys.argv[3:]


def compile_for_gpu(name: str, function: Any, *arguments: Any) -> None:
    """Compiles, and prints what became of it."""
    pipeline.clear_records()
    function.__name__ = name
    lowered = pipeline.jit(function, partitioner_permutes=ASKED).lower(*arguments)
    assert "collective_permute" not in lowered.as_text()
    lowered.compile()
    (entry,) = pipeline.records()
    dumped = [path.read_text() for path in FOLDER.glob(f"*jit_{name}.thunk_sequence.txt")]
    streams = re.findall(r"kAsyncStart .*stream=communication_stream\[(\d+)\]", "".join(dumped))
    told = {
        "outcome": entry.outcome,
        "options": entry.options,
        "partitioner": dataclasses.asdict(entry.partitioner) if entry.partitioner else None,
        "compiled": len(dumped),
        "streams": streams,
        "cached": len(list(CACHE.glob(f"jit_{name}-*-cache"))),
    }
    print(json.dumps(told))


def training() -> Any:
    """The training script that names no collective."""
    path = samples.module_path("rolls").parent / "training" / "auto_training.py"
    spec = importlib.util.spec_from_file_location("auto_training", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for option, value in (
    ("jax_compilation_cache_dir", str(CACHE)),
    ("jax_persistent_cache_min_compile_time_secs", 0),
    ("jax_persistent_cache_min_entry_size_bytes", 0),
):
    jax.config.update(option, value)
# Two hosts of four GPUs: XLA's text is NVLink domains x hosts in each x GPUs per host.
devices = topologies.get_topology_desc(
    platform="cuda", topology="2x1x4", target_config=targets.find("h200").gpu_target_config
).devices
mesh = Mesh(np.array(devices), ("x",))
split, whole = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())

rolls = samples.sample("rolls").build(devices)
compile_for_gpu("rolls", rolls.function, *rolls.args)


@custom_partitioning
def halo(x: jax.Array) -> jax.Array:
    """What both neighbours hold, once it is partitioned."""
    return x


def exchange(mesh: Mesh, arguments: Any, _: Any) -> Any:
    """One device's part of `halo`."""

    def local(x: jax.Array) -> jax.Array:
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)])
        return up - jax.lax.ppermute(x, "x", [(i, (i - 1) % 8) for i in range(8)])

    return mesh, local, arguments[0].sharding, (arguments[0].sharding,)


halo.def_partition(exchange, sharding_rule="i j -> i j", infer_sharding_from_operands=lambda _, x, __: x[0].sharding)
compile_for_gpu("halo", lambda x, y: halo(x) + jnp.tanh(x @ y), *rolls.args)

auto = training()
field = jax.ShapeDtypeStruct((auto.ROWS, auto.COLUMNS), jnp.float32, sharding=split)
number = jax.ShapeDtypeStruct((), jnp.float32, sharding=whole)
mixer = jax.ShapeDtypeStruct((auto.COLUMNS, auto.COLUMNS), jnp.float32, sharding=whole)


def train_step(parameters: Any, field: jax.Array, later: jax.Array) -> Any:
    """The step of the training script."""

    def loss(parameters: Any) -> jax.Array:
        return jnp.mean((auto.advance(parameters, field) - later) ** 2)

    value, gradient = jax.value_and_grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - auto.RATE * g, parameters, gradient), value


compile_for_gpu("train_step", train_step, {"down": number, "up": number, "mixer": mixer}, field, field)
