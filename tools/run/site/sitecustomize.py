"""Runs first in each Python that a program under hlo-run starts: see `hloverlap.tools.run.workers`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _join(text: str) -> None:
    """Takes part in the run, where this is the Python that hlo-run runs on."""
    given = json.loads(text)
    if (given["prefix"], given["version"]) != (sys.prefix, sys.version):
        return
    if "hloverlap" not in sys.modules:  # another one on the search path must not get in the way
        spec = importlib.util.spec_from_file_location("hloverlap", given["package"])
        assert spec is not None
        assert spec.loader is not None
        sys.modules["hloverlap"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["hloverlap"])
    from hloverlap.tools.run import workers

    workers.join(given)


def _make_way() -> None:
    """Lets the sitecustomize run that would be there without this one."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["sitecustomize"])


try:
    if "HLOVERLAP_RUN" in os.environ:  # our own child processes are started without it
        _join(os.environ["HLOVERLAP_RUN"])
except Exception as error:
    print(f"hlo-run: process {os.getpid()} runs as it was written: {type(error).__name__}: {error}", file=sys.stderr)
finally:
    _make_way()
