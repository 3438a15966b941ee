"""The pipeline for one function, for a block of a program, or for all of it.

    step = hloverlap.pipeline.jit(step, "overlap", donate_argnums=0)

    with hloverlap.pipeline.enabled("overlap", functions="train_*") as compiled:
        train(...)
    for entry in compiled: print(entry.function, entry.outcome, entry.message)

    hloverlap.pipeline.install("overlap")

The rewrite happens in jit's own compile. Calls afterwards are jit's own, at no cost.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax

from hloverlap.passes.analysis import cost
from hloverlap.passes.base import Pass
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.jax_jit import hook
from hloverlap.pipeline.jax_jit.records import Record
from hloverlap.pipeline.jax_jit.settings import Setting, register

Pipeline = str | Pass | Iterable[Pass]


def jit(
    fun: Callable[..., Any] | None = None,
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: cost.Target | str | None = None,
    verify_each: bool = True,
    strict: bool = False,
    partitioner_permutes: bool = False,
    **options: Any,
) -> Any:
    """``jax.jit(fun, **options)``, compiled through `pipeline`. Without `fun`, a decorator.

    pipeline, topology, target, verify_each: as for `run`, but by default the topology and the target are those of the
        devices that a function is compiled for.
    strict: raise what a pass or XLA raises, where otherwise the original runs and a PipelineWarning says why.
    partitioner_permutes: put the permutes on streams that only XLA's partitioner knows (GPUs, jaxlib 0.12).

    The result is what jax.jit gives: called inside another jit, it is compiled as part of that one.
    Raises PipelineError (ill-formed pipeline), TopologyError, TargetError, and what jax.jit raises.
    """
    setting = Setting.of(
        pipeline, topology, target, verify_each, strict=strict, partitioner_permutes=partitioner_permutes
    )
    of_user = options.pop("compiler_options", None) or {}
    decorate = functools.partial(jax.jit, compiler_options={**of_user, hook.OPTION: register(setting)}, **options)
    jitted = decorate if fun is None else decorate(fun)
    hook.acquire()  # for good: a jitted function may be compiled at any time
    return jitted


@contextlib.contextmanager
def enabled(
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: cost.Target | str | None = None,
    verify_each: bool = True,
    functions: str = "*",
    strict: bool = False,
    partitioner_permutes: bool = False,
) -> Iterator[Record]:
    """Every jit that this thread compiles inside the block goes through `pipeline`; functions of `jit` keep theirs.

    functions: patterns with * and ?, separated by commas; others are compiled as they are.
    The other parameters are as for `jit`. Gives the record of what is compiled.

    What was compiled outside is compiled anew inside, and the other way round: the setting is part of the key of
    jit's caches. Entering the same setting again finds what it had compiled.
    """
    setting = Setting.of(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)
    token = register(setting)
    record = Record(token)
    hook.acquire()
    try:
        hook.note_compiled_before(token)
        with hook.active(token):
            yield record
    finally:
        hook.release()
        record.close()


_installed: list[Record] = []


def install(
    pipeline: Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: cost.Target | str | None = None,
    verify_each: bool = True,
    functions: str = "*",
    strict: bool = False,
    partitioner_permutes: bool = False,
) -> Record:
    """The same as `enabled` for all threads, until `uninstall`. A second call replaces the setting of the first.

    It does not start jax's backends, so that ``jax.distributed.initialize`` and the like may follow.
    """
    setting = Setting.of(pipeline, topology, target, verify_each, functions, strict, partitioner_permutes)
    uninstall()
    token = register(setting)
    _installed.append(Record(token))
    hook.acquire()
    hook.note_compiled_before(token)
    hook.active.set_global(token)
    return _installed[0]


def uninstall() -> None:
    """Undoes `install`; nothing happens where nothing is installed."""
    while _installed:
        hook.active.set_global(None)
        hook.release()
        _installed.pop().close()
