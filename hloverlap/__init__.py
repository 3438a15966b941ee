"""hloverlap: find the collectives that XLA runs one after the other, and let them run together.

    result = hloverlap.run("step.mlir", "overlap", topology="2x4")
    step = hloverlap.jit(step, "overlap")

The public names and the modules that they live in are listed once, in ``__init__.pyi``, which type checkers read too.
A name is imported when it is used, so that importing the package costs nothing and loads neither jax nor jaxlib.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def _homes() -> dict[str, str]:
    """Gives the public names, each with the module that it lives in, as the stub beside this file imports them."""
    import ast
    import pathlib

    stub = ast.parse(pathlib.Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = (statement for statement in stub.body if isinstance(statement, ast.ImportFrom))
    return {alias.name: str(statement.module) for statement in imports for alias in statement.names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = globals()[name] = getattr(importlib.import_module(_homes()[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(_homes())
