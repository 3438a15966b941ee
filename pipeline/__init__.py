"""How passes meet a module: reading, ordering, running, jit, compiling, checking.

The public names are looked up when they are used, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hloverlap.pipeline.compiling import compile
    from hloverlap.pipeline.errors import PassFailedError, PipelineError, PipelineTextError
    from hloverlap.pipeline.formats.reading import ReadError
    from hloverlap.pipeline.jitting.compilation import PipelineWarning
    from hloverlap.pipeline.jitting.interface import enabled, install, jit, uninstall
    from hloverlap.pipeline.jitting.records import Entry, PartitionerPermutes, Record, clear_records, records
    from hloverlap.pipeline.running import Result, run
    from hloverlap.pipeline.transfers.placing import device_put

_HOME = {
    "Entry": "jitting.records",
    "PartitionerPermutes": "jitting.records",
    "PassFailedError": "errors",
    "PipelineError": "errors",
    "PipelineTextError": "errors",
    "PipelineWarning": "jitting.compilation",
    "ReadError": "formats.reading",
    "Record": "jitting.records",
    "Result": "running",
    "clear_records": "jitting.records",
    "compile": "compiling",
    "device_put": "transfers.placing",
    "enabled": "jitting.interface",
    "install": "jitting.interface",
    "jit": "jitting.interface",
    "records": "jitting.records",
    "run": "running",
    "uninstall": "jitting.interface",
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

    found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
