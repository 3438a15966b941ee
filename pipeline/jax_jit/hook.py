"""The place in jit's own compile where the pipeline runs. Nothing of this is called once a function is compiled."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from hloverlap.pipeline import jax_internals
from hloverlap.pipeline.jax_jit import partitioner, records, rewriting
from hloverlap.pipeline.jax_jit.compilation import Compilation
from hloverlap.pipeline.jax_jit.records import Entry
from hloverlap.pipeline.jax_jit.settings import find

# A compiler option of ours: part of jit's own cache key, and taken out before XLA sees it.
OPTION = "hloverlap_setting"

# The token of the setting that is on, for this thread or for all; part of the key of jit's caches.
active = jax_internals.user_context()

_users = 0
_undo: list[Callable[[], None]] = []
_lock = threading.Lock()


def acquire() -> None:
    """Puts the hook in place; each call needs a `release`."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _undo.extend(
                (
                    jax_internals.wrap_compile(_wrap),
                    jax_internals.allow_in_nested_jits(OPTION),
                    partitioner.stop_listening,
                )
            )


def release() -> None:
    """Takes the hook out when nobody needs it any more."""
    global _users
    with _lock:
        _users -= 1
        if not _users:
            while _undo:
                _undo.pop()()


def note_compiled_before(token: str) -> None:
    """Records what was compiled for several devices before this setting was on, each function once."""
    setting = find(token)
    known = {entry.function for entry in records.records() if entry.token == token}
    for executable in jax_internals.live_executables():
        if len(devices := executable.local_devices()) > 1:
            function = rewriting.function_name(executable.hlo_modules()[0].name)
            if function not in known and setting.covers(function):
                known.add(function)
                message = (
                    "it was compiled before the pipeline was on; jax.jit compiles it anew when it is called, "
                    "but a jax.stages.Compiled that the program holds stays as it is"
                )
                records.add(Entry(function, "compiled before", message, devices[0].platform, len(devices), token))


def _wrap(compile: jax_internals.Compile) -> jax_internals.Compile:
    @functools.wraps(compile)
    def compile_or_get_cached(
        backend: Any, module: ir.Module, devices: Any, compile_options: Any, *rest: Any, **named: Any
    ) -> Any:
        given = jax_internals.option_overrides(compile_options)
        token = given.pop(OPTION, None)
        if token is not None:
            jax_internals.set_option_overrides(compile_options, given)
        token = token or active.value
        if token is None:
            return compile(backend, module, devices, compile_options, *rest, **named)

        def build(module: ir.Module, compile_options: Any) -> Any:
            return compile(backend, module, devices, compile_options, *rest, **named)

        return Compilation(token, module, compile_options, backend.platform, tuple(devices.flat), build).run()

    return compile_or_get_cached
