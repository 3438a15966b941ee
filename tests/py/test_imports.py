"""Importing the package, any part of it, changes nothing that another part of a program can see."""

from __future__ import annotations

import json
import os
import subprocess
import sys

# One process that looks before and after, since what an import does it does but once. jax and rich come before.
SCRIPT = """
import importlib, json, logging, os, pkgutil, signal, sys, threading, warnings
import jax, rich.console, rich.table, rich.traceback
from jax._src import xla_bridge
import hloverlap

def visible():
    return {
        "jax's configuration": sorted(map(repr, jax.config.values.items())),
        "jax's backends": xla_bridge.backends_are_initialized(),
        "finders of modules": list(map(repr, sys.meta_path + sys.path_hooks + sys.path)),
        "the environment": sorted(os.environ.items()) + [os.getcwd()],
        "signals": [repr(signal.getsignal(each)) for each in sorted(signal.valid_signals())],
        "warnings": list(map(repr, warnings.filters)),
        "logging": [logging.root.level, *map(repr, logging.root.handlers)],
        "threads": threading.active_count(),
        "the interpreter": list(map(repr, (sys.argv, sys.excepthook, sys.stdin, sys.stdout, sys.stderr))),
        "jax's compile": repr(jax._src.compiler.compile_or_get_cached),
    }

changed = []
jitted = jax.jit(lambda: changed.append("jax.jit traced again") or 1)
if "backends" in sys.argv:
    jitted()
    changed.clear()
names = ["hloverlap"]
for module in pkgutil.walk_packages(hloverlap.__path__, "hloverlap."):
    if module.name.endswith("__main__"):  # a command, not a module to import
        continue
    before = visible()
    importlib.import_module(module.name)
    if "backends" in sys.argv:
        jitted()
    changed += [name for name, value in visible().items() if value != before[name]]
    names += [f"{module.name}: {each}" for each in changed]
    changed.clear()
print(json.dumps(names))
"""


def effects(*arguments: str) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, *arguments]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_importing_every_module_changes_nothing_that_others_see() -> None:
    assert effects() == ["hloverlap"]


def test_importing_every_module_has_jax_trace_nothing_again() -> None:
    assert effects("backends") == ["hloverlap"]
