"""Runs first in a child: ties it to its parent, and finds the package where the parent did.

    python -P start.py PARENT PACKAGE MODULE [ARGUMENT ...]

PARENT is a process id, PACKAGE the path of the ``__init__.py`` of hloverlap. MODULE runs as ``python -m`` would run it,
but neither the current folder nor another hloverlap on the search path can get in its way.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(parent: int, package: str, module: str, arguments: list[str]) -> None:
    """Runs `module` as this process's program."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it, and so would we
    spec = importlib.util.spec_from_file_location("hloverlap", package)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["hloverlap"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["hloverlap"])
    sys.argv[:] = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def end_with(parent: int) -> None:
    """Has the kernel kill this process when its parent dies, even by SIGKILL. Only Linux offers that."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
