"""Compiles a lowering through a pipeline, ahead of time.

    lowered = jax.jit(f).lower(x)
    rewritten = compile(lowered, "overlap")
    rewritten(x)                      # the same bits as jax.jit(f)(x)
    rewritten.result.remarks          # what was done

jit's own cache is not touched: a later ``jax.jit(f)(x)`` runs the original.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hloverlap.passes.machine import xla_options
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.mlir.modules import copy_of
from hloverlap.pipeline.execution import manager, resolution, running
from hloverlap.pipeline.jax_internals import lowerings
from hloverlap.pipeline.jax_jit import placement

if TYPE_CHECKING:
    import jax


@dataclasses.dataclass(frozen=True)
class Rewritten:
    """A compiled rewritten module, called like the function it came from."""

    compiled: jax.stages.Compiled
    """What ``lowered.compile()`` would return, for the rewritten module: pytrees, donation and shardings as there."""
    result: running.Result
    """What the pipeline did."""
    compiler_options: Mapping[str, CompileOption]
    """What was given to XLA, the user's options and the rewrite's."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the executable. Static arguments are left out, as with ``jax.stages.Compiled``."""
        return self.compiled(*args, **kwargs)


def compile(
    lowered: jax.stages.Lowered,
    pipeline: resolution.Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    verify_each: bool = True,
    compiler_options: Mapping[str, CompileOption] | None = None,
) -> Rewritten:
    """Runs `pipeline` on a copy of the lowering's module and compiles the result.

    pipeline, topology, target, verify_each: as for `run`, but by default the topology and the target are those of the
        lowering's devices.
    compiler_options: as for ``lowered.compile``. The options that the rewrite asks for are added on GPUs only, and
        only where neither these, nor ``jax.jit(f, compiler_options=...)``, nor XLA_FLAGS name them.
    Raises what `run` raises for a pipeline that cannot run, and what XLA raises for a module that it cannot compile.
    """
    if isinstance(topology, str):
        topology = Topology.parse(topology)
    module = lowerings.module_of(lowered)
    devices = lowerings.devices_of(lowered)
    result = running.run_in_place(
        running.in_own_context(module),
        pipeline,
        topology=placement.placed(topology, devices),
        target=target or placement.target_of(devices),
        instrumentation=manager.Instrumentation(verify_each=verify_each),
    )
    given = dict(compiler_options or {})
    of_jit = lowerings.compiler_options_of(lowered)
    platform = devices[0].platform if devices else ""
    options: dict[str, Any] = {**xla_options.to_add(platform, result.compile_options, {*given, *of_jit}), **given}
    if result.changed:
        lowered = lowerings.with_module(lowered, copy_of(result.module, module.context))
    compiled = lowered.compile(compiler_options=options or None)
    return Rewritten(compiled, result, {**of_jit, **options})
