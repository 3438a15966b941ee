"""How passes meet a module: reading, ordering, running, jit, compiling, checking.

The public names are looked up when they are used, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hloverlap.passes.errors import PassFailedError, PipelineError, PipelineTextError
    from hloverlap.pipeline.execution.running import Result, run
    from hloverlap.pipeline.formats.errors import ReadError
    from hloverlap.pipeline.jax_jit.compilation import PipelineWarning
    from hloverlap.pipeline.jax_jit.compiling import compile
    from hloverlap.pipeline.jax_jit.interface import enabled, install, jit, uninstall
    from hloverlap.pipeline.jax_jit.records import Entry, PartitionerPermutes, Record, clear_records, records
    from hloverlap.pipeline.transfers.device_put import device_put

_HOME = {
    "Entry": "hloverlap.pipeline.jax_jit.records",
    "PartitionerPermutes": "hloverlap.pipeline.jax_jit.records",
    "PassFailedError": "hloverlap.passes.errors",
    "PipelineError": "hloverlap.passes.errors",
    "PipelineTextError": "hloverlap.passes.errors",
    "PipelineWarning": "hloverlap.pipeline.jax_jit.compilation",
    "ReadError": "hloverlap.pipeline.formats.errors",
    "Record": "hloverlap.pipeline.jax_jit.records",
    "Result": "hloverlap.pipeline.execution.running",
    "clear_records": "hloverlap.pipeline.jax_jit.records",
    "compile": "hloverlap.pipeline.jax_jit.compiling",
    "device_put": "hloverlap.pipeline.transfers.device_put",
    "enabled": "hloverlap.pipeline.jax_jit.interface",
    "install": "hloverlap.pipeline.jax_jit.interface",
    "jit": "hloverlap.pipeline.jax_jit.interface",
    "records": "hloverlap.pipeline.jax_jit.records",
    "run": "hloverlap.pipeline.execution.running",
    "uninstall": "hloverlap.pipeline.jax_jit.interface",
}

__all__ = [
    "Entry",
    "PartitionerPermutes",
    "PassFailedError",
    "PipelineError",
    "PipelineTextError",
    "PipelineWarning",
    "ReadError",
    "Record",
    "Result",
    "clear_records",
    "compile",
    "device_put",
    "enabled",
    "install",
    "jit",
    "records",
    "run",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
