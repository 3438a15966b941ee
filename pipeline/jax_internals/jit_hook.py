"""Takes part in the compiles of `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Compile = Callable[..., Any]
Undo = Callable[[], None]


def user_context() -> Any:
    """Makes a value, by default None, that is part of the key of jit's caches.

    It has ``value`` and ``set_global``, and a call gives a context manager. Making one has jit trace again, once, what
    was traced before; jax asks that nothing else of it is called meanwhile.
    """
    import jax

    return jax.make_user_context(None)


def wrap_compile(wrapper: Callable[[Compile], Compile]) -> Undo:
    """Puts ``wrapper(original)`` in the place of the function through which every jit compiles.

    It is called as ``compile(backend, module, devices, compile_options, *rest)``: jaxlib's client, the StableHLO
    module, the devices in the order of the partitions as an array, jaxlib's CompileOptions. It gives the executable.
    The function that it returns takes it out again.
    """
    from jax._src import compiler

    original = compiler.compile_or_get_cached
    ours = wrapper(original)
    compiler.compile_or_get_cached = ours

    def undo() -> None:
        if compiler.compile_or_get_cached is ours:  # else somebody has wrapped ours, which is told to do nothing
            compiler.compile_or_get_cached = original

    return undo


def option_overrides(compile_options: Any) -> dict[str, Any]:
    """Gives the XLA options that the user set, by ``jax.jit(f, compiler_options=...)`` or ``lowered.compile(...)``."""
    return dict(compile_options.env_option_overrides)


def set_option_overrides(compile_options: Any, overrides: Mapping[str, Any]) -> None:
    """Sets the XLA options that `option_overrides` gives."""
    compile_options.env_option_overrides = list(overrides.items())


def allow_in_nested_jits(option: str) -> Undo:
    """Has a jit with this compiler option traced inside another jit as if it did not have it; jax refuses that."""
    from jax._src import pjit
    from jax._src.interpreters import partial_eval

    original = partial_eval.custom_staging_rules[pjit.jit_p]

    def rule(trace: Any, source_info: Any, *args: Any, **params: Any) -> Any:
        kept = tuple(pair for pair in params["compiler_options_kvs"] if pair[0] != option)
        return original(trace, source_info, *args, **{**params, "compiler_options_kvs": kept})

    partial_eval.custom_staging_rules[pjit.jit_p] = rule

    def undo() -> None:
        if partial_eval.custom_staging_rules[pjit.jit_p] is rule:
            partial_eval.custom_staging_rules[pjit.jit_p] = original

    return undo


def add_transformation(name: str, transform: Callable[[bytes], bytes | None]) -> list[str]:
    """Has the GPU backends call `transform` on each HloModuleProto after partitioning; gives their platforms.

    transform: gives the module that is compiled instead, or None. It must not raise.
    """
    from jax.extend import xla

    platforms = []
    for platform in ("cuda", "rocm"):
        try:
            xla.register_hlo_module_transformation(transform, name=name, platforms=platform)
            platforms.append(platform)
        except (RuntimeError, ValueError):  # this plugin is not there
            pass
    return platforms


def remove_transformation(name: str, platform: str) -> None:
    """Undoes `add_transformation` for one of its platforms."""
    from jax.extend import xla

    xla.clear_hlo_module_transformation(name, platforms=platform)
