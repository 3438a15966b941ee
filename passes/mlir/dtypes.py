"""Maps MLIR's element types to NumPy's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from hloverlap.passes.mlir.types import MOVED_AS_THEY_ARE


def dtype_of(element_type: str) -> np.dtype[Any]:
    """Gives the NumPy dtype of an MLIR element type, such as ``f8E4M3FN``, ``ui4`` or ``complex<f32>``.

    Raises ValueError for one that NumPy cannot hold.
    """
    import ml_dtypes

    if element_type == "i1":
        return np.dtype(bool)
    if match := re.fullmatch(r"complex<f(32|64)>", element_type):
        return np.dtype(f"complex{2 * int(match[1])}")
    name = element_type.lower()
    name = re.sub(r"^s?i(?=\d)", "int", re.sub(r"^ui(?=\d)", "uint", name))
    name = re.sub(r"^f(\d+)", r"float\1", re.sub(r"^f(\d)(e)", r"float\1_\2", name)).replace("bf16", "bfloat16")
    found: type[np.generic] | None = getattr(ml_dtypes, name, None) or getattr(np, name, None)
    if found is None:
        raise ValueError(f"no array can hold elements of type {element_type}")
    return np.dtype(found)


def bits_of(dtype: np.dtype[Any]) -> int:
    """Counts the bits of each stored element that mean something: 4 of an int4, which is stored in a byte."""
    match = re.search(r"(?:int|float)(\d)(?:_|$)", dtype.name)
    return int(match[1]) if match else 8 * dtype.itemsize


def is_float(dtype: np.dtype[Any]) -> bool:
    """Says whether elements are floats, also those that NumPy itself does not know."""
    return dtype.kind == "f" or "float" in dtype.name


def is_widened(dtype: np.dtype[Any]) -> bool:
    """Says what `types.is_widened` says of the same element type."""
    return is_float(dtype) and dtype not in map(dtype_of, MOVED_AS_THEY_ARE)
