"""The process that has XLA partition one module after the other. jax is loaded once; each module has a fork of its own.

    python -m hloverlap.pipeline.partition.server

Each line on stdin names a folder with ``request.json`` and ``module.mlirbc``; each line on stdout is an
End as JSON. When its kind is ``ok``, the folder holds ``partitioned.mlirbc`` and ``shardings.json``.

XLA writes the partitioned module after a few percent of a compile. The fork that compiles is killed as soon as it is
there, and a second fork reads it. This process itself starts no thread and no client, so that it can be forked.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from hloverlap.pipeline.children import ends, start
from hloverlap.pipeline.children.ends import End
from hloverlap.pipeline.formats import protobuf
from hloverlap.pipeline.xla.compile_child import MISSING, REFUSED

_PASSES = "spmd-partitioning"  # of which XLA dumps what it has before and after
_WRITTEN = "*after_spmd-partitioning*.hlo.pb"
_REORDERED = re.compile(r"replica_groups=mesh\[[^\]]*\], device_ids=")  # see xla_options.GROUPS_AS_AXES
_LOOK = 0.002  # seconds between two looks at the folder


def main() -> None:
    """Serves until stdin ends."""
    _load()
    for line in sys.stdin:
        request = json.loads(line)
        end = _serve(pathlib.Path(request["folder"]), request["time_limit"])
        sys.stdout.write(json.dumps({"kind": end.kind, "message": end.message, "status": end.status}) + "\n")
        sys.stdout.flush()


def _load() -> None:
    """Imports what the forks need, but makes no client: its threads would not survive."""
    from hloverlap.pipeline.formats import convert_child  # noqa: F401
    from hloverlap.pipeline.jax_internals import executables, hlo  # noqa: F401

    executables.preload()


def _serve(folder: pathlib.Path, time_limit: float) -> End:
    stop = time.monotonic() + time_limit
    dump = folder / "dump"
    compiling = _fork(lambda: _compile(folder, dump), folder / "compile.txt")
    end: End | None = None
    while end is None and _written(dump) is None:
        if time.monotonic() > stop:
            end = End("timeout", f"no end within {time_limit:g} s")
        else:
            end = _ended(compiling, folder / "compile.txt")
            time.sleep(_LOOK)
    if end is None or end.kind == "timeout":
        _kill(compiling)
    if end is not None and end.kind != "ok":
        return end
    if _written(dump) is None:
        return End("failed", "XLA compiled the module but wrote no partitioned one")
    reading = _fork(lambda: _convert(folder, dump), folder / "convert.txt")
    while (end := _ended(reading, folder / "convert.txt")) is None:
        if time.monotonic() > stop:
            _kill(reading)
            return End("timeout", f"no end within {time_limit:g} s")
        time.sleep(_LOOK)
    return end


def _compile(folder: pathlib.Path, dump: pathlib.Path) -> int:
    """Compiles; the dump comes on the way."""
    import jax
    from jaxlib.mlir import ir

    from hloverlap.passes.machine import xla_options
    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.jax_internals import executables

    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    module = (folder / "module.mlirbc").read_bytes()
    options: dict[str, int | bool | str] = {
        xla_options.DUMP_TO: str(dump),
        xla_options.DUMP_HLO_AS_PROTO: True,
        xla_options.DUMP_AFTER_PASSES: _PASSES,
        xla_options.GROUPS_AS_AXES: False,
    }
    count = request["partitions"]
    how = request["shardy"], options, request["open_arguments"], request["open_results"]
    try:
        if request["backend"] == "gpu":
            executables.compile_for_gpu(module, request["target_config"], f"1x1x{count}", 1, count, *how)
        else:
            jax.config.update("jax_platforms", "cpu")
            jax.config.update("jax_num_cpu_devices", count)
            parsed = ir.Module.parse(module, make_context())
            executables.compile_and_load(parsed, jax.devices("cpu"), 1, count, how[1], how[0], *how[2:])
    except (jax.errors.JaxRuntimeError, NotImplementedError) as error:  # other exceptions are no words of XLA's
        (folder / "error.txt").write_text(f"{error}" or type(error).__name__, encoding="utf-8")
        return REFUSED if isinstance(error, jax.errors.JaxRuntimeError) else MISSING
    return 0


def _convert(folder: pathlib.Path, dump: pathlib.Path) -> int:
    """Turns the dump into StableHLO, and says how arguments and results are divided."""
    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.formats import convert_child
    from hloverlap.pipeline.jax_internals import hlo

    proto = bytes(_written(dump) or b"")
    if _REORDERED.search(hlo.from_proto(proto).to_string()):
        (folder / "error.txt").write_text("replica groups name axes of a mesh whose devices are in another order")
        return REFUSED
    arguments, results = hlo.shardings(proto)
    shardings = {"arguments": arguments, "results": results}
    (folder / "shardings.json").write_text(json.dumps(shardings), encoding="utf-8")
    try:
        converted = convert_child.from_hlo_proto(proto, make_context())
    except convert_child.InexpressibleError as error:
        (folder / "error.txt").write_text(f"StableHLO cannot express it: {error}", encoding="utf-8")
        return REFUSED
    (folder / "partitioned.mlirbc").write_bytes(converted)
    return 0


def _written(dump: pathlib.Path) -> memoryview | None:
    """The HloModuleProto that XLA has dumped; None as long as it is not there whole."""
    for path in sorted(dump.glob(_WRITTEN)):
        try:
            return protobuf.hlo_module(path.read_bytes())
        except protobuf.MalformedError:
            continue  # it is being written
    return None


def _fork(work: Callable[[], int], words: pathlib.Path) -> int:
    """Does the work in a process of its own, whose stderr goes to a file, and gives the process's id."""
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        start.end_with(parent)
        with words.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = work()
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(status)  # without this process's own ends, which are the parent's


def _ended(process: int, words: pathlib.Path) -> End | None:
    """How a fork ended; None when it runs."""
    found, status = os.waitpid(process, os.WNOHANG)
    if not found:
        return None
    end = ends.read(os.waitstatus_to_exitcode(status), words.read_text(encoding="utf-8", errors="replace"))
    error = words.parent / "error.txt"
    if end.kind == "refused" and error.exists():
        return dataclasses.replace(end, message=error.read_text(encoding="utf-8"))
    return end


def _kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def shardings_of(folder: pathlib.Path) -> dict[str, Any]:
    """Reads what `_convert` said of the arguments and results."""
    found: dict[str, Any] = json.loads((folder / "shardings.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main()
