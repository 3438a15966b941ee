"""Gives what ``--version`` says, and what a reproducer was made with."""

from __future__ import annotations


def text() -> str:
    """Returns the versions of hloverlap, jaxlib and Python, a line each."""
    import importlib.metadata
    import platform

    installed = "\n".join(f"{name} {importlib.metadata.version(name)}" for name in ("hloverlap", "jaxlib"))
    return f"{installed}\npython {platform.python_version()}"
