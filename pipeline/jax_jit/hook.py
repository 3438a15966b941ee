"""Puts the pipeline into jit's own compile. Nothing of it is called once a function is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from jaxlib.mlir import ir

from hloverlap.pipeline.jax_internals import jit_hook

# A compiler option of ours: part of jit's own cache key, and taken out before XLA sees it.
OPTION = "hloverlap_config"

Build = Callable[[ir.Module, Any], Any]  # compiles a module with jaxlib's CompileOptions


class CompileWith(Protocol):
    """Compiles a module through the pipeline of the configuration that a token stands for."""

    def __call__(
        self, token: str, module: ir.Module, options: Any, platform: str, devices: tuple[Any, ...], build: Build
    ) -> Any:
        """Gives the executable."""
        ...


def wrapper(
    compile_with: CompileWith, token_for_all: Callable[[], str | None]
) -> Callable[[jit_hook.Compile], jit_hook.Compile]:
    """Makes what `jit_hook.wrap_compile` takes.

    token_for_all: gives the token for functions that bring none; None compiles them as they are.
    """

    def wrap(compile: jit_hook.Compile) -> jit_hook.Compile:
        @functools.wraps(compile)
        def compile_or_get_cached(
            backend: Any, module: ir.Module, devices: Any, compile_options: Any, *rest: Any, **named: Any
        ) -> Any:
            given = jit_hook.option_overrides(compile_options)
            token = given.pop(OPTION, None)
            if token is not None:
                jit_hook.set_option_overrides(compile_options, given)
            token = token or token_for_all()
            if token is None:
                return compile(backend, module, devices, compile_options, *rest, **named)

            def build(module: ir.Module, compile_options: Any) -> Any:
                return compile(backend, module, devices, compile_options, *rest, **named)

            return compile_with(token, module, compile_options, backend.platform, tuple(devices.flat), build)

        return compile_or_get_cached

    return wrap
