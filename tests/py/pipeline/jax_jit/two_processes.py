"""One of two processes of a program on 2 x 4 virtual CPU devices; prints one JSON object about it.

    python two_processes.py PROCESS PORT PIPELINE

PIPELINE is what to compile with, "" for nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap import pipeline

PROCESS, PORT, PIPELINE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{PORT}", 2, PROCESS)
mesh = Mesh(np.array(jax.devices()), ("x",))
rows = NamedSharding(mesh, P("x", None))


def ring(x: jax.Array, i: jax.Array) -> jax.Array:
    """Floats one way and numbers the other way, in a loop: across the processes and inside them."""

    def local(x: jax.Array, i: jax.Array) -> jax.Array:
        def step(_: int, state: Any) -> Any:
            x, i = state
            up = jax.lax.ppermute(x, "x", [(d, (d + 1) % 8) for d in range(8)])
            down = jax.lax.ppermute(i, "x", [(d, (d - 1) % 8) for d in range(8)])
            return jnp.tanh(up @ x.T @ x) + i.astype(x.dtype), down + 1

        x, i = jax.lax.fori_loop(0, 3, step, (x, i))
        return x + i

    return jax.shard_map(local, mesh=mesh, in_specs=P("x", None), out_specs=P("x", None))(x, i)


def split(values: np.ndarray) -> jax.Array:
    """The global array, of which each process has the half that its devices hold."""
    return jax.make_array_from_callback(values.shape, rows, lambda index: values[index])


x = split(np.random.default_rng(0).standard_normal((16, 4)).astype(np.float32))
i = split(np.arange(64, dtype=np.int32).reshape(16, 4))
with pipeline.enabled(PIPELINE) if PIPELINE else contextlib.nullcontext():
    results = [jax.jit(ring)(x, i), jax.jit(lambda x: jnp.roll(x, 1, axis=0) @ x.T)(x)]
    jax.block_until_ready(results)
digest = hashlib.sha256()
for result in results:
    for shard in result.addressable_shards:
        digest.update(np.asarray(shard.data).tobytes())
entries = [entry for entry in pipeline.records() if entry.devices == 8]
told = {
    "results": digest.hexdigest(),
    "modules": [entry.fingerprint for entry in entries],
    "outcomes": {entry.function: entry.outcome for entry in entries},
    "changes": {entry.function: entry.changes for entry in entries},
}
print(json.dumps(told))
