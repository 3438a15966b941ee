"""Finds the user's call for which jit compiles something, and points warnings at it."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from types import FrameType

import jax

import hloverlap

# The folders of what stands between a user's call and the compile. (`warnings` can skip these itself from 3.12 on.)
_BETWEEN = tuple(os.path.join(os.path.dirname(os.path.abspath(str(each.__file__))), "") for each in (jax, hloverlap))


def place() -> str:
    """Gives ``file:line`` of the user's call; "" where a thread of jax's or of ours compiles."""
    frame = _frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else ""


def warn(text: str, category: type[Warning]) -> None:
    """Warns, as if the user's call had done it: filters by module, and once for each place, hold as they should."""
    frame = _frame()
    if frame is None:
        warnings.warn(text, category, stacklevel=2)
        return
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    module = str(names.get("__name__", "<unknown>"))
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def _frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((*_BETWEEN, contextlib.__file__)):
        frame = frame.f_back
    return frame
