"""Runs the pipeline for one function, for a block of a program, or for all of it.

    step = hloverlap.jit(step, "overlap", donate_argnums=0)

    with hloverlap.enabled("overlap", functions="train_*") as compiled:
        train(...)
    for record in compiled: print(record.function, record.outcome, record.message)

    hloverlap.install("overlap")

The rewrite happens in jit's own compile. Calls afterwards are jit's own, at no cost.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from hloverlap.passes.base import Pass
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.jax_jit.config import JitConfig
from hloverlap.pipeline.jax_jit.hook import OPTION
from hloverlap.pipeline.jax_jit.records import RecordLog
from hloverlap.pipeline.jax_jit.session import SESSION

Pipeline = str | Pass | Iterable[Pass]


def jit(
    fun: Callable[..., Any] | None = None,
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    verify_each: bool = True,
    strict: bool = False,
    partitioner_permutes: bool = False,
    **options: Any,
) -> Any:
    """Compiles as ``jax.jit(fun, **options)`` does, but through `pipeline`. Without `fun`, it gives a decorator.

    pipeline, topology, target, verify_each: as for `run`, but by default the topology and the target are those of the
        devices that a function is compiled for.
    strict: raise what a pass or XLA raises, where otherwise the original runs and a PipelineWarning says why.
    partitioner_permutes: put the permutes on streams that only XLA's partitioner knows (GPUs, jaxlib 0.12).

    The result is what jax.jit gives: called inside another jit, it is compiled as part of that one.
    Raises PipelineError (ill-formed pipeline), TopologyError, TargetError, and what jax.jit raises.
    """
    config = JitConfig.of(
        pipeline, topology, target, verify_each, strict=strict, partitioner_permutes=partitioner_permutes
    )
    of_user = options.pop("compiler_options", None) or {}
    compiler_options = {**of_user, OPTION: SESSION.configs.token(config)}
    decorate = functools.partial(jax.jit, compiler_options=compiler_options, **options)
    jitted = decorate if fun is None else decorate(fun)
    SESSION.acquire()  # for good: a jitted function may be compiled at any time
    return jitted


@contextlib.contextmanager
def enabled(
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    verify_each: bool = True,
    functions: str = "*",
    strict: bool = False,
    partitioner_permutes: bool = False,
) -> Iterator[RecordLog]:
    """Sends every jit that this thread compiles inside the block through `pipeline`; functions of `jit` keep theirs.

    functions: patterns with * and ?, separated by commas; others are compiled as they are. The other parameters are as
    for `jit`. Gives the log of what is compiled: see `RecordLog`.

    What was compiled outside is compiled anew inside, and the other way round: the configuration is part of the key of
    jit's caches. Entering the same one again finds what it had compiled.
    """
    config = JitConfig.of(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)
    with SESSION.enabled(config) as log:
        yield log


def install(
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    verify_each: bool = True,
    functions: str = "*",
    strict: bool = False,
    partitioner_permutes: bool = False,
) -> RecordLog:
    """Does for all threads what `enabled` does, until `uninstall`; a second call replaces the first. Gives the log.

    It does not start jax's backends, so that ``jax.distributed.initialize`` and the like may follow.
    """
    config = JitConfig.of(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)
    return SESSION.install(config)


def uninstall() -> None:
    """Undoes `install`; nothing happens where nothing is installed."""
    SESSION.uninstall()
