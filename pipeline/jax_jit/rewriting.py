"""Rewrites one module on its way from jit to XLA."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from hloverlap.passes.machine import xla_options
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode, copy_of
from hloverlap.pipeline.execution import manager, running
from hloverlap.pipeline.jax_jit import partitioner, placement
from hloverlap.pipeline.jax_jit.config import JitConfig

if TYPE_CHECKING:
    import jax

_MOST_BYTES = 1 << 20
COVERED = ("cpu", *xla_options.GPU_PLATFORMS)


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """Says what jit is to compile instead of a module."""

    module: ir.Module | None
    """In the context of the original; None where the original will do."""
    result: running.Result
    """What the pipeline did."""
    options: Mapping[str, CompileOption]
    """XLA options to add."""
    options_kept: tuple[str, ...]
    """XLA options that were asked for, but that the user has set."""
    seconds: float
    """The time that all this took."""
    fingerprint: str
    """See `CompileRecord.fingerprint`."""
    mark: str
    """What `partitioner` finds in the module; "" for nothing."""


def rewrite(
    config: JitConfig,
    module: ir.Module,
    platform: str,
    devices: Sequence[jax.Device],
    given: Collection[str] = (),
    token: str = "",
) -> Rewrite:
    """Runs a configuration's pipeline on a copy of `module`.

    devices: in the order of the partitions. given: XLA options that the user set for this compile. token: that of
    `config` where `partitioner` is to treat the module, "" where it is not. Raises what `running.run` raises.
    """
    start = time.perf_counter()
    result = running.run_in_place(
        _copy(module),
        config.steps,
        topology=placement.placed(config.topology, devices),
        target=config.target or placement.target_of(devices),
        instrumentation=manager.Instrumentation(verify_each=config.verify_each),
    )
    replacement = copy_of(result.module, module.context) if result.changed or token else None
    fingerprint = _fingerprint(result.module)
    mark = partitioner.make_mark(token, fingerprint) if token else ""
    asked = dict(result.compile_options)
    if mark and replacement is not None:
        partitioner.leave_mark(replacement, mark)
        asked |= partitioner.options(config, result.compile_options)
    added = xla_options.to_add(platform, asked, given)
    kept = tuple(name for name in asked if name not in added) if platform in xla_options.GPU_PLATFORMS else ()
    return Rewrite(replacement, result, added, kept, time.perf_counter() - start, fingerprint, mark)


def function_name(module_name: str) -> str:
    """Gives a module's name without what jax puts before the function's own: jit_train_step is train_step."""
    return module_name.removeprefix("jit_").removeprefix("pmap_")


class _Spare(threading.local):
    """Holds the MLIR context for the next module of this thread, and counts the bytes of modules it has seen."""

    context: ir.Context | None = None
    bytes = 0


_spare = _Spare()  # not in the session: a cache that ends with its thread, is bounded, and shows in nothing but time


def _copy(module: ir.Module) -> ir.Module:
    """Copies a module into a context of ours: jax's run passes on threads, which Python passes do not survive.

    Small modules share one, since loading the dialects takes as long as reading such a module. A context never frees
    the constants that it has seen, so it is dropped after a megabyte.
    """
    image = bytecode(module)
    if _spare.context is None or _spare.bytes > _MOST_BYTES:
        _spare.context, _spare.bytes = make_context(load_all=False), 0
    _spare.bytes += len(image)
    return ir.Module.parse(image, _spare.context)


def _fingerprint(module: ir.Module) -> str:
    """Hashes the module without its locations, which name files of this machine. The module loses them."""
    PassManager.parse("builtin.module(strip-debuginfo)", module.context).run(module.operation)
    return hashlib.sha256(bytecode(module)).hexdigest()
