"""Says where the devices are, as hloverlap sees them, and what it knows of them; for a machine with GPUs.

    python tools/bench/gpu/where.py            # by compile
    hlo-run tools/bench/gpu/where.py           # and by hlo-run, whose summary follows

On XLA's CPU devices it says the same of those.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import hloverlap
from hloverlap.pipeline.jax_jit import placement


def main() -> None:
    """Prints the topology, the machine and its links, and what compiling two opposite permutes says."""
    devices = jax.devices()
    target, topology = placement.target_of(devices), placement.topology_of(devices)
    assert target is not None, "jax has devices"
    assert topology is not None, "jax has devices"
    print(f"topology {topology}: host {topology.host}, process {topology.process}")
    print(f"machine {target.name}: {target.costs}")
    mesh = Mesh(np.array(devices), ("x",))
    count = len(devices)

    def both_ways(x: jax.Array) -> jax.Array:
        right, left = (jax.lax.ppermute(x, "x", [(n, (n + by) % count) for n in range(count)]) for by in (1, -1))
        return right + left

    x = jax.device_put(jnp.arange(8.0 * count), NamedSharding(mesh, PartitionSpec("x")))
    step = jax.jit(jax.shard_map(both_ways, mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")))
    rewritten = hloverlap.compile(step.lower(x))
    assert (rewritten(x) == step(x)).all()
    print(*(f"{remark.code}: {remark.message}" for remark in rewritten.result.remarks), sep="\n")
    print(f"options {dict(rewritten.compiler_options)}")


if __name__ == "__main__":
    main()
