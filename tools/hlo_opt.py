"""hlo-opt: arguments in, a pipeline over a module, text out. mlir-opt's manners."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from hloverlap.tools.opt import arguments
from hloverlap.tools.opt.arguments import Arguments, UsageError

FAILURE = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status. argv: without the program's name; by default the process's."""
    try:
        status = _main(arguments.parse(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
        return status
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again at its end
        return _fail("<stdout>: cannot be written: its reader is gone", error)
    except UsageError as error:
        return _fail(f"{error} (see hlo-opt --help)", error)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # a bug, which nobody's terminal need suffer from
        said = str(error).strip().rpartition("\n")[2]
        return _fail(f"internal error: {type(error).__name__}: {said}; please report it with the input", error)


def _main(given: Arguments) -> int:
    if given.on("help"):
        print(arguments.help_text())
        return 0
    if given.on("version"):
        print(versions())
        return 0
    if given.on("list-passes"):
        from hloverlap.tools.opt import pass_listing

        pass_listing.show()
        return 0
    from hloverlap.passes.errors import HloverlapError
    from hloverlap.tools.opt.optimizer import Optimizer

    try:
        return Optimizer(given).run()
    except UsageError:
        raise
    except HloverlapError as error:
        return _fail(str(error), error)


def _fail(message: str, error: Exception) -> int:
    """One error on stderr; with HLOVERLAP_DEBUG=1 also where it comes from."""
    if os.environ.get("HLOVERLAP_DEBUG") == "1":
        import traceback

        traceback.print_exception(error.__cause__ or error)
    print(f"hlo-opt: error: {message}", file=sys.stderr)
    return FAILURE


def versions() -> str:
    import importlib.metadata
    import platform

    installed = "\n".join(f"{name} {importlib.metadata.version(name)}" for name in ("hloverlap", "jaxlib"))
    return f"{installed}\npython {platform.python_version()}"
