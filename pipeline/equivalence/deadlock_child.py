"""Runs both modules of a check on StableHLO's interpreter and says where each waits for ever.

    python -m hloverlap.pipeline.equivalence.deadlock_child FOLDER KIND SEED

FOLDER holds the modules ``before`` and ``after``. Each line of stdout is JSON: the name of a module and its Waits, {}
for one that comes to its end, null for one of which the interpreter cannot say.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import TYPE_CHECKING

from hloverlap.pipeline.children import limits
from hloverlap.pipeline.equivalence import entry
from hloverlap.pipeline.equivalence.entry import NotRunnableError
from hloverlap.pipeline.equivalence.inputs import KINDS
from hloverlap.pipeline.equivalence.interpreter.interpreter import Interpreter, random_arguments, uses_global_view
from hloverlap.pipeline.equivalence.waits import DeadlockError

if TYPE_CHECKING:
    from hloverlap.pipeline.equivalence.inputs import Kind
    from hloverlap.pipeline.equivalence.waits import Waits

# It runs beside a check that may only be slow, and must not take its memory or its processor for long.
_MEMORY = 1 << 30  # bytes
_SECONDS = 60


def main(folder: pathlib.Path, kind: Kind, seed: int) -> None:
    """Says it of each module on inputs of one kind."""
    limits.limit(_MEMORY, _SECONDS)
    for role in ("before", "after"):
        print(json.dumps([role, waits(folder / role, kind, seed)]), flush=True)


def waits(path: pathlib.Path, kind: Kind, seed: int) -> Waits | None:
    """Runs one module as XLA does, on the same inputs; None where it cannot be run so."""
    try:
        module, called = entry.read(path)
        # Outside of manual computations XLA partitions main itself, and the interpreter takes main for one device's.
        if (called.replicas if uses_global_view(module) else called.partitions) > 1:
            return None
        interpreter = Interpreter(module)
        interpreter.run(random_arguments(module, interpreter.grid, kind, seed))
    except DeadlockError as error:
        return error.waiting
    except NotRunnableError:
        return None
    return {}


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), next(kind for kind in KINDS if kind == sys.argv[2]), int(sys.argv[3]))
