"""``python tools/bench`` from a checkout, or ``python -m hloverlap.tools.bench`` where the project is installed."""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile


def _make_importable(folder: str) -> None:
    """Makes the packages of this checkout importable, here and in child processes, through a link in `folder`.

    The checkout's top folder is what the namespace package `hloverlap` stands for.
    """
    here = pathlib.Path(__file__).resolve()
    sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != here.parent]
    (pathlib.Path(folder) / "hloverlap").symlink_to(here.parents[2], target_is_directory=True)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))


def _main() -> int:
    if __package__:
        from hloverlap.tools.bench.command import main

        return main(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="hloverlap-") as folder:
        _make_importable(folder)
        from hloverlap.tools.bench.command import main

        return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(_main())
