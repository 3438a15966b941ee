"""Has XLA compile a module in a process that may abort, hang or be killed without harm to the caller.

    python -m hloverlap.pipeline.xla.compile_child FOLDER

FOLDER holds ``request.json`` and ``module.mlirbc``; the dumps of XLA go to FOLDER/dump. An error that XLA reports goes
to FOLDER/error.txt, with exit status REFUSED; jax's word that it has no such compiler too, with MISSING. Where XLA does
not take an option or the target, it refuses every module, and the status is NOT_TAKEN.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import sys
from typing import Any

REFUSED, MISSING, NOT_TAKEN = 3, 4, 5  # exit statuses

# A module with nothing wrong: what is refused with it, too, is not about the module.
_PLAIN = b"func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


def main(folder: pathlib.Path) -> int:
    """Compiles what the request in `folder` asks for; returns the exit status."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    import jax

    try:
        _compile((folder / "module.mlirbc").read_bytes(), request, folder / "dump")
    except (jax.errors.JaxRuntimeError, NotImplementedError) as error:  # other exceptions are no words of XLA's
        _say(error, folder)
        if not isinstance(error, jax.errors.JaxRuntimeError):
            return MISSING
        try:
            _compile(_PLAIN, request, folder / "plain")
        except jax.errors.JaxRuntimeError as of_all:
            _say(of_all, folder)
            return NOT_TAKEN
        return REFUSED
    return 0


def _say(error: Exception, folder: pathlib.Path) -> None:
    (folder / "error.txt").write_text(f"{error}" or type(error).__name__, encoding="utf-8")


def _compile(module: bytes, request: dict[str, Any], dump: pathlib.Path) -> None:
    import jax

    from hloverlap.passes.machine import xla_options
    from hloverlap.pipeline.jax_internals import executables

    layout = {name: request[name] for name in ("replicas", "partitions", "shardy")}
    options = {**request["options"], xla_options.DUMP_TO: str(dump), xla_options.DUMP_HLO_AS_TEXT: True}
    if request["backend"] == "cpu":
        _compile_for_cpu(module, options=options, **layout)
    else:
        gpu = {name: request[name] for name in ("target_config", "topology")}
        try:
            with_statistics = {xla_options.COST_STATISTICS: True, **options}
            executables.compile_for_gpu(module, options=with_statistics, **layout, **gpu)
        except jax.errors.JaxRuntimeError as error:
            if "Cannot find key: sm_" not in str(error):  # XLA has no statistics for some GPUs, such as the A100
                raise
            shutil.rmtree(dump, ignore_errors=True)
            executables.compile_for_gpu(module, options=options, **layout, **gpu)


def _compile_for_cpu(
    module: bytes, replicas: int, partitions: int, shardy: bool, options: dict[str, int | bool | str]
) -> None:
    """Compiles with XLA:CPU for as many virtual devices as XLA_FLAGS has given this process."""
    import jax
    from jaxlib.mlir import ir

    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.jax_internals import executables

    devices = jax.devices("cpu")[: replicas * partitions]
    executables.compile_and_load(
        ir.Module.parse(module, make_context()), devices, replicas, partitions, options, shardy
    )


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
