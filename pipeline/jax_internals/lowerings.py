"""Reads what a lowering of jax holds, and gives it another module."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

if TYPE_CHECKING:
    import jax


def module_of(lowered: jax.stages.Lowered) -> ir.Module:
    """Gives the StableHLO module of a lowering. It is shared with jit's cache: read it, never change it."""
    module = lowered.compiler_ir("stablehlo")
    assert isinstance(module, ir.Module), type(module)
    return module


def devices_of(lowered: jax.stages.Lowered) -> tuple[jax.Device, ...]:
    """Gives the devices that the lowering is for, in the order of its partitions; () when it names none."""
    devices = lowered._lowering._device_list  # type: ignore[attr-defined]
    return () if devices is None else tuple(devices)


def compiler_options_of(lowered: jax.stages.Lowered) -> dict[str, Any]:
    """Gives what the user gave as ``jax.jit(f, compiler_options=...)``."""
    return dict(lowered._lowering._compiler_options_kvs)  # type: ignore[attr-defined]


def with_module(lowered: jax.stages.Lowered, module: ir.Module) -> jax.stages.Lowered:
    """Copies `lowered` so that its `compile` compiles `module`: same arguments, donation, shardings and effects.

    `module` must live in the context of `module_of(lowered)`. `lowered` and jit's cache keep the original.
    """
    lowering = copy.copy(lowered._lowering)
    lowering._hlo = module  # type: ignore[attr-defined]
    lowering._executable = None  # type: ignore[attr-defined]
    copied = copy.copy(lowered)
    copied._lowering = lowering
    return copied
