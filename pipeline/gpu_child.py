"""The process in which XLA compiles a module: it may abort, hang or be killed without harm to the caller.

    python -m hloverlap.pipeline.gpu_child FOLDER

FOLDER holds ``request.json`` and ``module.mlirbc``; the dumps of XLA go to FOLDER/dump, and an error that XLA
reports goes to FOLDER/error.txt (exit status 3).
"""

from __future__ import annotations

import json
import pathlib
import sys

REFUSED = 3  # exit status: XLA declined with an error message


def main(folder: pathlib.Path) -> int:
    """Compiles what the request in `folder` asks for; returns the exit status."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    from hloverlap.pipeline import versions

    try:
        versions.compile_for_gpu(
            (folder / "module.mlirbc").read_bytes(),
            target_config=request["target_config"],
            topology=request["topology"],
            replicas=request["replicas"],
            partitions=request["partitions"],
            shardy=request["shardy"],
            options={**request["options"], "xla_dump_to": str(folder / "dump"), "xla_dump_hlo_as_text": True},
        )
    except Exception as error:  # whatever XLA says is the answer of this process
        (folder / "error.txt").write_text(f"{error}" or type(error).__name__, encoding="utf-8")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
