"""Finds where the results of two runs differ, bit by bit. Results are [output][device] -> array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ml_dtypes  # noqa: F401  teaches NumPy what is finite in its dtypes
import numpy as np

from hloverlap.pipeline.equivalence.inputs import bit_patterns

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Array


def first_difference(expected: Sequence[Sequence[Array]], found: Sequence[Sequence[Array]]) -> str:
    """Describes the first element whose bits differ in a sentence; "" where none does. Both are [output][device]."""
    if len(expected) != len(found):
        return f"the original has {len(expected)} results and the rewritten module {len(found)}"
    for output, (wanted, got) in enumerate(zip(expected, found, strict=True)):
        for device, (one, other) in enumerate(zip(wanted, got, strict=True)):
            if one.shape != other.shape or one.dtype != other.dtype:
                return (
                    f"result {output} on device {device} is {one.dtype}{list(one.shape)} in the original and "
                    f"{other.dtype}{list(other.shape)} in the rewritten module"
                )
            left, right = bit_patterns(one), bit_patterns(other)
            unlike = left != right
            if not unlike.any():
                continue
            place = np.unravel_index(int(np.argmax(unlike)), left.shape) if left.ndim else ()
            index = [int(number) for number in place]
            where = index[: one.ndim]
            digits = 2 * left.itemsize
            return (
                f"result {output} on device {device} differs at {where}: "
                f"{one[tuple(where)]} (0x{int(left[place]):0{digits}x}) in the original, "
                f"{other[tuple(where)]} (0x{int(right[place]):0{digits}x}) in the rewritten module; "
                f"{int(unlike.sum())} of {unlike.size} elements there differ"
            )
    return ""


def finite_share(outputs: Sequence[Sequence[Array]]) -> float:
    """Says which part of the floating-point results is neither infinite nor NaN; 1 where there are none."""
    total = finite = 0
    for shards in outputs:
        for shard in shards:
            if shard.dtype.kind in "fc" or (shard.dtype.kind == "V" and "float" in shard.dtype.name):
                total += shard.size
                finite += int(np.isfinite(shard).sum())
    return finite / total if total else 1.0
