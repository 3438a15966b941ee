"""Compiles once through a pipeline: the passes, XLA, and the record that says what happened."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from hloverlap.passes.mlir.symbols import symbol_name
from hloverlap.pipeline.jax_internals import jit_hook
from hloverlap.pipeline.jax_jit import caller, partitioner, rewriting
from hloverlap.pipeline.jax_jit.config import JitConfig
from hloverlap.pipeline.jax_jit.partitioner import PartitionerCallback
from hloverlap.pipeline.jax_jit.records import CompileRecord, Outcome, PartitionerPermutes
from hloverlap.pipeline.jax_jit.rewriting import Rewrite


class PipelineWarning(UserWarning):
    """Says that a function runs as it was written, since it could not be rewritten."""


class Compilation:
    """One compile of jit's; see `run`.

    token: that of `config`.
    options: jaxlib's CompileOptions, with all that the user asked for.
    devices: in the order of the partitions.
    build: compiles a module with options.
    callback: what XLA asks about the partitioner's permutes.
    keep: is given the record.
    """

    def __init__(
        self,
        config: JitConfig,
        token: str,
        module: ir.Module,
        options: Any,
        platform: str,
        devices: tuple[Any, ...],
        build: Callable[[ir.Module, Any], Any],
        callback: PartitionerCallback,
        keep: Callable[[CompileRecord], None],
    ) -> None:
        self._config = config
        self._module = module
        self._options = options
        self._devices = devices
        self._build = build
        self._callback = callback
        self._keep = keep
        function = rewriting.function_name(symbol_name(module.operation))
        self._record = CompileRecord(
            function, "unchanged", "", platform, len(devices), str(token), caller=caller.place()
        )

    def run(self) -> Any:
        """Gives the executable of the rewritten module, or of the original where there is a reason, which is recorded.

        Raises what XLA raises for the original; with a strict configuration also what the pipeline raises, and XLA for
        the rewritten module.
        """
        platform = self._record.platform
        if not self._config.covers(self._record.function):
            return self._original("left out", f"its name does not match '{self._config.functions}'")
        if platform not in rewriting.COVERED:
            return self._original("not covered", f"the passes know nothing of backend '{platform}'")
        try:
            rewrite = self._rewrite()
        except Exception as error:  # whatever a pass raises
            return self._failed("the pipeline failed", error)
        options = self._options
        if rewrite.options:
            options = copy.deepcopy(options)
            jit_hook.set_option_overrides(options, {**jit_hook.option_overrides(options), **rewrite.options})
        try:
            executable = self._timed(rewrite.module or self._module, options)
        except Exception as error:  # whatever XLA raises
            if rewrite.module is None and not rewrite.options:
                raise
            return self._failed("XLA refused the rewritten module", error)
        if rewrite.mark:
            self._note(partitioner=self._callback.answer(rewrite.mark))
        self._finish(*self._outcome(rewrite))
        return executable

    def _rewrite(self) -> Rewrite:
        platform, several = self._record.platform, len(self._devices) > 1
        asked = self._config.partitioner_permutes and several
        obstacle = partitioner.obstacle(platform) if asked else ""
        if obstacle:
            self._note(partitioner=PartitionerPermutes(obstacle))
        elif asked:
            self._callback.listen()
        given = jit_hook.option_overrides(self._options)
        token = self._record.token if asked and not obstacle else ""
        rewrite = rewriting.rewrite(self._config, self._module, platform, self._devices, given, token)
        self._note(
            remarks=rewrite.result.remarks,
            statistics=rewrite.result.statistics,
            options=rewrite.options,
            options_kept=rewrite.options_kept,
            rewrite_seconds=rewrite.seconds,
            fingerprint=rewrite.fingerprint,
        )
        return rewrite

    def _outcome(self, rewrite: Rewrite) -> tuple[Outcome, str]:
        in_hlo = self._record.partitioner.annotated if self._record.partitioner else 0
        if rewrite.result.changed:
            return "rewritten", self._record.changes or "the pipeline changed the module"
        if in_hlo:
            return "rewritten", "only permutes that the partitioner made were changed"
        return "unchanged", "the pipeline ran and found nothing to change"

    def _original(self, outcome: Outcome, message: str) -> Any:
        executable = self._timed(self._module, self._options)
        self._finish(outcome, message)
        return executable

    def _failed(self, what: str, error: Exception) -> Any:
        """Compiles the original. Raises `error` where the configuration is strict."""
        text = " ".join(f"{error}".split()) or type(error).__name__
        message = f"{what}: {text}"
        self._note(statistics={}, options={}, options_kept=(), fingerprint="", partitioner=None)
        if self._config.strict:
            self._finish("failed", message)
            raise error
        caller.warn(f"{self._record.title} runs as it was written; {message}", PipelineWarning)
        return self._original("failed", message)

    def _timed(self, module: ir.Module, options: Any) -> Any:
        start = time.perf_counter()
        executable = self._build(module, options)
        self._note(compile_seconds=time.perf_counter() - start)
        return executable

    def _note(self, **facts: Any) -> None:
        self._record = dataclasses.replace(self._record, **facts)

    def _finish(self, outcome: Outcome, message: str) -> None:
        self._note(outcome=outcome, message=message)
        self._keep(self._record)
