"""One compile with a setting: the pipeline, XLA, and the entry that says what happened."""

from __future__ import annotations

import copy
import dataclasses
import time
import warnings
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from hloverlap.pipeline import jax_internals
from hloverlap.pipeline.jax_jit import partitioner, records, rewriting
from hloverlap.pipeline.jax_jit.records import Entry, Outcome, PartitionerPermutes
from hloverlap.pipeline.jax_jit.rewriting import Rewrite
from hloverlap.pipeline.jax_jit.settings import find


class PipelineWarning(UserWarning):
    """A function runs as it was written, since it could not be rewritten."""


class Compilation:
    """See `run`.

    token: of the setting. options: jaxlib's CompileOptions, with all that the user asked for.
    devices: in the order of the partitions. build: compiles a module with options.
    """

    def __init__(
        self,
        token: str,
        module: ir.Module,
        options: Any,
        platform: str,
        devices: tuple[Any, ...],
        build: Callable[[ir.Module, Any], Any],
    ) -> None:
        self._setting = find(token)
        self._module = module
        self._options = options
        self._devices = devices
        self._build = build
        function = rewriting.function_name(ir.StringAttr(module.operation.attributes["sym_name"]).value)
        self._entry = Entry(function, "unchanged", "", platform, len(devices), token)

    def run(self) -> Any:
        """The executable of the rewritten module, or of the original where there is a reason, which is recorded.

        Raises what XLA raises for the original; with a strict setting also what the pipeline raises, and XLA for
        the rewritten module.
        """
        platform = self._entry.platform
        if not self._setting.covers(self._entry.function):
            return self._original("left out", f"its name does not match '{self._setting.functions}'")
        if platform not in rewriting.COVERED:
            return self._original("not covered", f"the passes know nothing of backend '{platform}'")
        try:
            rewrite = self._rewrite()
        except Exception as error:  # whatever a pass raises
            return self._failed("the pipeline failed", error)
        options = self._options
        if rewrite.options:
            options = copy.deepcopy(options)
            jax_internals.set_option_overrides(options, {**jax_internals.option_overrides(options), **rewrite.options})
        try:
            executable = self._timed(rewrite.module or self._module, options)
        except Exception as error:  # whatever XLA raises
            if rewrite.module is None and not rewrite.options:
                raise
            return self._failed("XLA refused the rewritten module", error)
        if rewrite.mark:
            self._note(partitioner=partitioner.answer(rewrite.mark))
        self._record(*self._outcome(rewrite))
        return executable

    def _rewrite(self) -> Rewrite:
        platform, several = self._entry.platform, len(self._devices) > 1
        asked = self._setting.partitioner_permutes and several
        obstacle = partitioner.obstacle(platform) if asked else ""
        if obstacle:
            self._note(partitioner=PartitionerPermutes(obstacle))
        elif asked:
            partitioner.listen()
        given = jax_internals.option_overrides(self._options)
        rewrite = rewriting.rewrite(
            self._entry.token, self._module, platform, self._devices, given, marked=asked and not obstacle
        )
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
        in_hlo = self._entry.partitioner.annotated if self._entry.partitioner else 0
        if rewrite.result.changed:
            return "rewritten", self._entry.changes or "the pipeline changed the module"
        if in_hlo:
            return "rewritten", "only permutes that the partitioner made were changed"
        return "unchanged", "the pipeline ran and found nothing to change"

    def _original(self, outcome: Outcome, message: str) -> Any:
        executable = self._timed(self._module, self._options)
        self._record(outcome, message)
        return executable

    def _failed(self, what: str, error: Exception) -> Any:
        """The executable of the original. Raises `error` where the setting is strict."""
        text = " ".join(f"{error}".split()) or type(error).__name__
        message = f"{what}: {text}"
        self._note(statistics={}, options={}, options_kept=(), fingerprint="", partitioner=None)
        if self._setting.strict:
            self._record("failed", message)
            raise error
        warnings.warn(f"{self._entry.function} runs as it was written; {message}", PipelineWarning, stacklevel=2)
        return self._original("failed", message)

    def _timed(self, module: ir.Module, options: Any) -> Any:
        start = time.perf_counter()
        executable = self._build(module, options)
        self._note(compile_seconds=time.perf_counter() - start)
        return executable

    def _note(self, **facts: Any) -> None:
        self._entry = dataclasses.replace(self._entry, **facts)

    def _record(self, outcome: Outcome, message: str) -> None:
        self._note(outcome=outcome, message=message)
        records.add(self._entry)
