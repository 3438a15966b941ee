"""Runs as ``python tools/bench`` from a checkout, or ``python -m hloverlap.tools.bench`` where it is installed."""

from __future__ import annotations

import os
import pathlib
import sys


def _make_importable() -> None:
    """Makes the package of this checkout importable, here and in child processes."""
    here = pathlib.Path(__file__).resolve()
    sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != here.parent]
    checkout = str(here.parents[2])
    sys.path.insert(0, checkout)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [checkout, os.environ.get("PYTHONPATH", "")]))


if __name__ == "__main__":
    if not __package__:
        _make_importable()
    from hloverlap.tools.bench.gpu.command import main

    sys.exit(main(sys.argv[1:]))
