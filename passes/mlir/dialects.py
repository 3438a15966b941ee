"""Makes an MLIR context with every dialect JAX's modules use, without importing jax."""

from __future__ import annotations

import functools

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext, _mlirHlo
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


def make_context(allow_unregistered: bool = False, load_all: bool = True) -> ir.Context:
    """Makes a context. It is single-threaded: passes written in Python hold the interpreter lock anyway.

    load_all: without it dialects are loaded as a module that is parsed needs them, which saves 4 of 5 ms.
    """
    context = ir.Context()
    context.append_dialect_registry(_registry())
    if load_all:
        context.load_all_available_dialects()
    context.enable_multithreading(False)
    context.allow_unregistered_dialects = allow_unregistered
    for dialect in (stablehlo, sdy, chlo):
        dialect.register_dialect(context, load=load_all)
    # The extension itself: jaxlib.mlir.dialects.mhlo also brings a class an op, which takes 7 ms.
    _mlirHlo.register_mhlo_dialect(context, load=load_all)
    return context


@functools.cache
def _registry() -> ir.DialectRegistry:
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    return registry
