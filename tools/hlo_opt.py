"""hlo-opt runs a pipeline over a module: arguments in, text out, with mlir-opt's manners."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.opt import arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status. argv: without the program's name; by default the process's."""
    return shell.run("hlo-opt", _main, argv)


def _main(argv: Sequence[str]) -> int:
    given = arguments.parse(argv)
    if given.help:
        print(arguments.help_text())
    elif given.version:
        from hloverlap.tools import versions

        print(versions.text())
    elif given.list_passes:
        from hloverlap.tools.opt import pass_listing

        pass_listing.show()
    else:
        from hloverlap.tools.opt.optimizer import Optimizer

        return Optimizer(given).run()
    return ExitStatus.FINE


if __name__ == "__main__":
    sys.exit(main())
