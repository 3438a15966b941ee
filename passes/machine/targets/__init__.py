"""Knows the machines, one TOML file each in this folder: to add one is to add a file (docs/new-target.md)."""

from __future__ import annotations

import functools
import os
import pathlib

from hloverlap.passes.errors import TargetError
from hloverlap.passes.machine import target_file
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.xla_options import GPU_PLATFORMS

FOLDER = pathlib.Path(__file__).parent

LOCAL = "local"
"""Stands for the device that is there, where a command can ask for it."""


def names() -> list[str]:
    """Lists the names of the targets, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def described() -> str:
    """Lists the names and their aliases, for a message: ``a100, cpu (or gloo), h100``."""
    return ", ".join(
        name + "".join(f" (or {alias})" for alias in _load(FOLDER / f"{name}.toml").aliases) for name in names()
    )


def find(text: str) -> Target:
    """Finds the target of this name, or else of the file of this name. Raises TargetError."""
    for name in names():
        if text == name or text in _load(FOLDER / f"{name}.toml").aliases:
            return _load(FOLDER / f"{name}.toml")
    if os.path.isfile(text):
        return _load(pathlib.Path(text))
    if text == LOCAL:
        raise TargetError(f"target '{LOCAL}' stands for the device that is there, and only hlo-audit looks for one")
    raise TargetError(f"there is no target '{text}', nor a file of this name; there are {described()}")


def parse(text: str, name: str) -> Target:
    """Makes the target that the text of a file describes; `name` is its own where it gives none. Raises TargetError."""
    return target_file.parse(text, name, _table_of)


def of_device(platform: str, kind: str) -> Target:
    """Finds the target of a JAX device with this ``platform`` and ``device_kind``; else one that knows but its name."""
    platform = "gpu" if platform in GPU_PLATFORMS else platform
    for name in names():
        found = _load(FOLDER / f"{name}.toml")
        if found.recognises(platform, kind):
            return found
    return Target(name=kind or platform, platform=platform, backend=platform if platform == "gpu" else "")


def _load(path: pathlib.Path) -> Target:
    if path.parent == FOLDER:
        return _of_file(path)
    return _of_file.__wrapped__(path)  # a user's file may change


@functools.cache
def _of_file(path: pathlib.Path) -> Target:
    try:
        return parse(_read(path), path.stem)
    except TargetError as error:
        raise TargetError(f"target '{path}': {error}") from None


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TargetError(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _table_of(base: str) -> target_file.Table:
    for name in names():
        path = FOLDER / f"{name}.toml"
        if base == name or base in _load(path).aliases:
            return target_file.parse_table(_read(path))
    raise TargetError(f"there is no target '{base}' for a base; there are {described()}")
