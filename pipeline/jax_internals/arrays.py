"""Takes arrays apart and puts them together at less cost than the public functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax


def local_shards(array: jax.Array) -> Sequence[jax.Array]:
    """Gives this process's parts of an array, in the order of ``sharding.addressable_devices_indices_map``.

    ``addressable_shards`` takes twice the time, which counts for hundreds of small arrays.
    """
    shards: Sequence[jax.Array] = array._arrays  # type: ignore[attr-defined]
    return shards


def assembler(shape: tuple[int, ...], dtype: Any, sharding: jax.sharding.Sharding) -> Callable[[Any], jax.Array]:
    """Gives ``jax.make_array_from_single_device_arrays`` for many arrays alike, four times as fast: it checks nothing.

    The function that it gives takes single-device arrays in the order of `local_shards`.
    """
    import jax
    from jax._src import core
    from jax._src.interpreters import pxla

    aval = core.update_aval_with_sharding(jax.core.ShapedArray(shape, dtype), sharding)
    return pxla.global_aval_to_result_handler(aval, sharding, True)
