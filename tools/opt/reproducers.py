"""Leaves hlo-opt's reproducers when a pass fails, and runs them again."""

from __future__ import annotations

import dataclasses
import sys

from jaxlib.mlir import ir

from hloverlap.passes.errors import PassError, PassFailedError
from hloverlap.pipeline.execution.resolution import Nest
from hloverlap.pipeline.formats import reading
from hloverlap.pipeline.formats.errors import ReadError, WriteError
from hloverlap.pipeline.formats.format import Source
from hloverlap.tools.main import UsageError
from hloverlap.tools.opt.arguments import Arguments


def load(given: Arguments, context: ir.Context) -> tuple[Arguments, Source]:
    """Reads the reproducer that `given` names: its module, and `given` with what the reproducer says besides.

    What the command line says holds. Raises UsageError when it says what to run as well, and ReadError.
    """
    from hloverlap.pipeline.execution.reproducer import Reproducer

    if given.passes or given.pass_pipeline is not None:
        raise UsageError("--run-reproducer takes the pipeline from the file: give no passes")
    data, name = reading.load(given.input)
    try:
        found, module = Reproducer.parse(data.decode("utf-8", "replace"))
    except ValueError as error:
        raise ReadError(f"{name}: {error}") from None
    replayed = dataclasses.replace(
        given,
        pass_pipeline=found.pipeline,
        verify_each=found.verify_each if given.verify_each is None else given.verify_each,
        topology=given.topology or found.topology or None,
        target=given.target or found.target or None,
    )
    return replayed, reading.read(module.encode(), name, context)


def leave(given: Arguments, steps: Nest, source: Source, error: PassFailedError) -> None:
    """Writes a reproducer and says where. What the user asked for and cannot have needs none, unless it has a name."""
    if isinstance(error.__cause__, PassError) and given.crash_reproducer is None:
        return
    from hloverlap.passes.mlir.dialects import make_context
    from hloverlap.pipeline.execution import reproducer
    from hloverlap.pipeline.formats import writing
    from hloverlap.tools import versions

    # The module at hand is half rewritten; what came in is read once more.
    module = reading.read(source.original, source.name, make_context(given.allow_unregistered_dialect)).module
    found = reproducer.Reproducer(str(steps), given.topology or "", given.target or "", verify_each=given.verifies_each)
    text = found.render(module, str(error), versions.text())
    path = given.crash_reproducer or reproducer.default_path(text)
    try:
        writing.write_whole(text.encode(), path)
    except WriteError as failure:
        print(f"hlo-opt: note: no reproducer: {failure}", file=sys.stderr)
        return
    print(f"hlo-opt: note: 'hlo-opt --run-reproducer {path}' shows the failure again", file=sys.stderr)
