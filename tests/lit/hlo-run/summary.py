# A program is run as it is, and the summary says what became of its functions and why.

# RUN: hlo-run %s 2>&1 | FileCheck %s
# RUN: hlo-run --functions='train_*' %s 2>&1 | FileCheck %s --check-prefix=NAMED
# RUN: hlo-run --topology=2x2 --pass-pipeline='merge-cross-host-transfers{strategy=group}' %s 2>&1 | FileCheck %s --check-prefix=GROUP
# RUN: hlo-run --summary=none %s 2>&1 | FileCheck %s --check-prefix=NONE

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def exchange(x):
    def local(x):
        up = jax.lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        down = jax.lax.ppermute(x, "x", [(i, (i - 1) % 4) for i in range(4)])
        return 2 * x + up - down

    return jax.shard_map(local, mesh=Mesh(jax.devices(), "x"), in_specs=P("x"), out_specs=P("x"))(x)


jax.jit(lambda x: x + 1)(1)
print("sum", float(np.asarray(jax.jit(exchange)(np.arange(8.0, dtype=np.float32))).sum()), flush=True)

# CHECK: sum 56.0
# CHECK: hlo-run: 1 of 2 compiled functions were rewritten
# CHECK: function times devices outcome what was done passes XLA
# CHECK: exchange 1 4 cpu rewritten num-annotated 2, num-streams 2 {{[0-9]+}} ms {{[0-9.]+}} s
# CHECK: 1 more had nothing to rewrite.
# CHECK: exchange:
# CHECK: summary.py:20: remark: ACS001: Put on stream [[S1]]

# NAMED: sum 56.0
# NAMED: hlo-run: 0 of 2 compiled functions were rewritten
# NAMED: exchange 1 4 cpu left out
# NAMED: exchange:
# NAMED: its name does not match 'train_*'

# GROUP: sum 56.0
# GROUP: exchange 1 4 cpu rewritten num-groups 1, num-merged 2
# GROUP: summary.py:20: remark: MCT001: Merged with 1 other into one group

# NONE: sum 56.0
# NONE-NOT: hlo-run
