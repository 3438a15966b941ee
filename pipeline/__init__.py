"""How passes meet a module: reading, ordering, running, jit, compiling, checking.

The public names are looked up when they are used, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hloverlap.pipeline.compiling import compile
    from hloverlap.pipeline.errors import PassFailedError, PipelineError, PipelineTextError
    from hloverlap.pipeline.reading import ReadError
    from hloverlap.pipeline.running import Result, run

_HOME = {
    "PassFailedError": "errors",
    "PipelineError": "errors",
    "PipelineTextError": "errors",
    "ReadError": "reading",
    "Result": "running",
    "compile": "compiling",
    "run": "running",
}

__all__ = ["PassFailedError", "PipelineError", "PipelineTextError", "ReadError", "Result", "compile", "run"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
