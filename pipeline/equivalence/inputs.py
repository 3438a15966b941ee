"""Makes random arrays for running a module: the same for the same seed, in any process.

There are three kinds, because no one kind shows every mistake:

- ``ordinary``: normals, and integers from 0 to 7, so that indices and loop bounds stay sane;
- ``positive``: positive floats of like size along each axis, and integers from 1 to 3, so that roots, logarithms and
  quotients stay finite; scalars, which are often steps and tolerances, are near a thousandth;
- ``special``: ordinary floats with NaNs of random payload, infinities, denormals, -0 and large values strewn in,
  and integers of every size (scalars excepted: they bound loops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hloverlap.passes.mlir.dtypes import bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

Kind = Literal["ordinary", "positive", "special"]
KINDS: tuple[Kind, ...] = ("ordinary", "positive", "special")


def bit_patterns(array: Array) -> Array:
    """Gives the elements of `array` as unsigned integers; a complex number gives two, in a new last axis."""
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    if contiguous.dtype.kind == "c":
        half = np.dtype(f"uint{4 * contiguous.itemsize}")
        return contiguous.view(half).reshape((*array.shape, 2)) if array.ndim else contiguous.reshape(1).view(half)
    patterns = contiguous.view(np.dtype(f"uint{8 * contiguous.itemsize}"))
    bits = bits_of(contiguous.dtype)
    return patterns & ((1 << bits) - 1) if bits < 8 else patterns


def random_array(shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind, seed: tuple[int, ...]) -> Array:
    """Makes an array of one kind; `seed` names it, e.g. (seed, replica, parameter)."""
    generator = np.random.default_rng(seed)
    if dtype.kind == "c":
        half = np.dtype(f"float{4 * dtype.itemsize}")
        return _floats(generator, (*shape, 2), half, kind).view(dtype).reshape(shape)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape, np.uint8).astype(bool)
    if dtype.kind in "iu" or "int" in dtype.name:
        return _integers(generator, shape, dtype, kind)
    return _floats(generator, shape, dtype, kind)


def _integers(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind) -> Array:
    bits = bits_of(dtype)
    if kind == "special" and shape:
        patterns = generator.integers(0, (1 << bits) - 1, shape, np.uint64, endpoint=True)
        unsigned = patterns.astype(np.dtype(f"uint{8 * dtype.itemsize}"))
        return unsigned.view(dtype) if bits >= 8 else unsigned.astype(dtype)
    low, high = (1, 3) if kind == "positive" else (0, 7)
    top = (1 << (bits - ("uint" not in dtype.name))) - 1  # 1 for int2
    return generator.integers(min(low, top), min(high, top), shape, np.int8, endpoint=True).astype(dtype)


def _floats(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], kind: Kind) -> Array:
    wide = np.float64 if dtype.itemsize == 8 else np.float32
    drawn = generator.standard_normal(shape, wide)
    if kind == "positive":
        drawn = np.multiply(1 + drawn / 64, _scales(generator, shape), dtype=wide)
    values = np.asarray(drawn).astype(dtype)
    if kind == "special" and values.size:
        _strew(generator, values)
    return values


def _scales(generator: np.random.Generator, shape: tuple[int, ...]) -> Array | float:
    """Makes sizes that differ by up to 16 along short axes, which usually hold unlike quantities: mass and energy."""
    scales: Array | float = 1.0 if shape else 2.0**-10
    for axis, length in enumerate(shape):
        if 1 < length < 8:
            factors = np.exp2(generator.uniform(-2, 2, length))
            scales = scales * factors.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return scales


def _strew(generator: np.random.Generator, values: Array) -> None:
    """Puts special values into an eighth of the elements; into none or one where there are fewer than eight."""
    count = values.size // 8 or int(generator.integers(0, 2))
    places = generator.integers(0, values.size, count)
    width = bits_of(values.dtype)
    unsigned = np.dtype(f"uint{8 * values.itemsize}")
    patterns = generator.integers(0, 1 << (width - 1), count, np.uint64, endpoint=False)
    if width >= 16:  # in a byte every pattern turns up by itself
        mantissa_bits = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}[values.dtype.name]
        mantissa = np.uint64((1 << mantissa_bits) - 1)
        exponent = np.uint64((1 << (width - 1)) - 1) & ~mantissa
        choices = [
            patterns | exponent | np.uint64(1),  # NaN, quiet or signalling, of random payload
            np.full(count, exponent),  # infinity
            patterns & mantissa,  # denormal
            np.zeros(count, np.uint64),  # zero
            patterns,  # anything
        ]
        patterns = np.choose(generator.integers(0, len(choices), count), choices)
    sign = generator.integers(0, 2, count, np.uint64) << np.uint64(width - 1)
    values.view(unsigned).reshape(-1)[places] = (patterns | sign).astype(unsigned)
