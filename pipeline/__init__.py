"""Lets passes meet a module: reading, ordering, running, jit, compiling, checking.

``hloverlap.pipeline.run`` and the like are the public names of `hloverlap`, under an older address. ``audit`` is not
among them: here it is a package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hloverlap import *  # noqa: F403


def __getattr__(name: str) -> Any:
    import hloverlap

    if name == "__all__":
        return __dir__()
    if name == "audit" or name not in dir(hloverlap):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(hloverlap, name)
    return found


def __dir__() -> list[str]:
    import hloverlap

    return [name for name in dir(hloverlap) if name != "audit"]
