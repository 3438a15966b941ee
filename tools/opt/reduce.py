"""Does what hlo-opt --reduce does: finds a smaller module on which a command still exits with 0."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile

from hloverlap.passes.errors import PipelineError
from hloverlap.pipeline.children.child import Child
from hloverlap.pipeline.execution.reduction import Reducer, count_ops
from hloverlap.pipeline.formats.format import Source
from hloverlap.tools.main import UsageError

TIME_LIMIT = 600.0  # seconds for one run of the command


def reduce(source: Source, command: str) -> bytes:
    """Writes the smaller module as MLIR text.

    command: for the shell; ``{}`` in it, or else its end, is the module's file.

    Raises UsageError when the command does not exit with 0 on the module as it is.
    """
    with tempfile.TemporaryDirectory(prefix="hlo-opt-reduce-") as folder:
        path = os.path.join(folder, "module.mlir")

        def interesting(text: str) -> bool:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return _status(command, path) == 0

        reducer = Reducer(source.module, interesting)
        if not interesting(reducer.text):
            raise UsageError(f"--reduce: '{command}' does not exit with 0 on {source.name} as it is")
        before = count_ops(source.module)
        text = reducer.reduce()
        after = count_ops(type(source.module).parse(text, source.module.context))
    print(f"hlo-opt: reduced {before} ops to {after} in {reducer.runs} runs of the command", file=sys.stderr)
    return (text.rstrip("\n") + "\n").encode()


def _status(command: str, path: str) -> int:
    """Runs the command and gives its exit status; one that does not end has none of interest."""
    quoted = shlex.quote(path)
    line = command.replace("{}", quoted) if "{}" in command else f"{command} {quoted}"
    with Child(["/bin/sh", "-c", line], time_limit=TIME_LIMIT) as running:
        end = running.end()
    if end.kind == "unavailable":
        raise PipelineError(f"--reduce: '{command}' cannot be run: {end.message}")
    return end.status
