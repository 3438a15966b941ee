"""hlo-opt's reproducers: left when a pass fails, and run again."""

from __future__ import annotations

import sys

from jaxlib.mlir import ir

from hloverlap.passes.errors import PassError, PassFailedError
from hloverlap.pipeline.execution.resolution import Nest
from hloverlap.pipeline.formats import reading
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Source
from hloverlap.tools.opt.arguments import Arguments, UsageError

_FILE = "mlir-pass-pipeline-crash-reproducer"


def load(given: Arguments, path: str, context: ir.Context) -> Source:
    """Reads a reproducer's module; what it says besides becomes the values of `given`.

    Raises UsageError when `given` says what to run as well, and ReadError.
    """
    from hloverlap.pipeline.execution.reproducer import Reproducer

    if given.passes or "pass-pipeline" in given.values:
        raise UsageError("--run-reproducer takes the pipeline from the file: give no passes")
    data, name = reading.load(path)
    try:
        found, module = Reproducer.parse(data.decode("utf-8", "replace"))
    except ValueError as error:
        raise ReadError(f"{name}: {error}") from None
    given.values["pass-pipeline"] = found.pipeline
    given.values.setdefault("verify-each", str(found.verify_each).lower())
    for flag, value in (("topology", found.topology), ("target", found.target)):
        if value:
            given.values.setdefault(flag, value)
    return reading.read(module.encode(), name, context)


def leave(given: Arguments, steps: Nest, source: Source, error: PassFailedError) -> None:
    """Writes a reproducer and says where. What the user asked for and cannot have needs none, unless it has a name."""
    if isinstance(error.__cause__, PassError) and given[_FILE] is None:
        return
    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.execution import reproducer
    from hloverlap.pipeline.formats import writing
    from hloverlap.tools import hlo_opt

    # The module at hand is half rewritten; what came in is read once more.
    module = reading.read(source.original, source.name, make_context(given.on("allow-unregistered-dialect"))).module
    found = reproducer.Reproducer(
        str(steps), given["topology"] or "", given["target"] or "", verify_each=given.on("verify-each")
    )
    text = found.render(module, str(error), hlo_opt.versions())
    path = given[_FILE] or reproducer.default_path(text)
    try:
        writing.write_whole(text.encode(), path)
    except WriteError as failure:
        print(f"hlo-opt: note: no reproducer: {failure}", file=sys.stderr)
        return
    print(f"hlo-opt: note: 'hlo-opt --run-reproducer {path}' shows the failure again", file=sys.stderr)
