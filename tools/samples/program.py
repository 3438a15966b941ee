"""Defines what every sample's ``build`` returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Program:
    """A function, what to call it with, and what it must return."""

    function: Callable[..., Any]
    """Takes one positional argument for each entry of ``args``."""
    args: tuple[Any, ...]
    """Pytrees of ShapeDtypeStruct, with the sharding of each array where the program has one."""
    reference: Callable[..., Any]
    """Computes the same result in plain numpy from whole arrays on the host."""
    tolerance: float = 1e-5
    """Bounds the relative and the absolute error against the reference."""
    transform: Callable[[Callable[..., Any]], Any] = jax.jit
    """How JAX compiles the function: ``jax.jit``, or ``jax.pmap`` with its axis."""

    def compiled(self) -> Any:
        """Gives the transformed function: callable, and with ``lower(*args)``."""
        return self.transform(self.function)

    def lower(self) -> jax.stages.Lowered:
        """Lowers the program for its own arguments."""
        lowered: jax.stages.Lowered = self.compiled().lower(*self.args)
        return lowered

    def inputs(self, seed: int = 0) -> tuple[Any, ...]:
        """Makes random arguments, the same for the same seed, placed as ``args`` says.

        Floats are standard normal, integers lie in [0, 100), booleans are even.
        """
        generator = np.random.default_rng(seed)

        def draw(leaf: jax.ShapeDtypeStruct) -> Any:
            if jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating):
                values = generator.standard_normal(leaf.shape)
            else:
                values = generator.integers(0, 2 if leaf.dtype == bool else 100, leaf.shape)
            array = values.astype(leaf.dtype)
            return array if leaf.sharding is None else jax.device_put(array, leaf.sharding)

        drawn: tuple[Any, ...] = jax.tree.map(draw, self.args)
        return drawn


def shift(size: int, distance: int) -> list[tuple[int, int]]:
    """Lists the pairs of a ring of this size on which every member sends to the one ``distance`` further on."""
    return [(source, (source + distance) % size) for source in range(size)]


def divide(whole: int, parts: int, what: str) -> int:
    """Divides ``whole`` by ``parts``. Raises ValueError where that is no whole number."""
    if whole % parts:
        raise ValueError(f"{what} is {whole}, which does not divide into {parts} equal parts")
    return whole // parts
