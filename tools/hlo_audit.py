"""hlo-audit: one module or two, what XLA will do with their collectives, and whether that got better."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

FAILURE = 1
WORSE = 4
OVER_BUDGET = 5

_EPILOG = """\
metrics for --fail-on: failed, collectives, launches, serialized, in_flight, synchronous, exposed, streams, groups,
bytes, exposed_bytes, hidden_flops, hidden_bytes, peak_memory (bytes), lost (serialized + exposed); of the second
module where there are two.

exit status:
  0  audited; with two modules: better, or the same
  1  bad input, bad usage, or no compiler for the target
  4  the second module is worse than the first, or XLA does not compile the one module
  5  a --fail-on budget is broken

XLA_FLAGS of the environment do not count; give options with --xla-option. Answers are kept in $HLOVERLAP_CACHE, or
in ~/.cache/hloverlap."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"hlo-audit: error: {message} (see hlo-audit --help)", file=sys.stderr)
        raise SystemExit(FAILURE)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status. argv: without the program's name; by default the process's."""
    if argv is None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that compiles end with us
    try:
        given = _parser().parse_args(argv)
        status = _main(given)
        sys.stdout.flush()
        return status
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130


def _main(given: argparse.Namespace) -> int:
    from hloverlap.passes.errors import HloverlapError
    from hloverlap.tools.audit.command import run

    try:
        return run(given)
    except (HloverlapError, ValueError) as error:
        if os.environ.get("HLOVERLAP_DEBUG") == "1":
            import traceback

            traceback.print_exception(error.__cause__ or error)
        print(f"hlo-audit: error: {error}", file=sys.stderr)
        return FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hlo-audit",
        description="Compiles a module for a GPU that need not be there, and says what became of each collective.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("module", metavar="MODULE", help="any format that hlo-opt reads; '-' is stdin")
    add("after", metavar="AFTER", nargs="?", help="a second module, compared with the first")
    add(
        "--pass-pipeline",
        metavar="TEXT",
        help="compare MODULE with what this pipeline makes of it, for no target in particular",
    )
    add("--target", default="h200", metavar="NAME", help="h100, h200, a100, b200, local, cpu, or a file [h200]")
    add("--topology", metavar="HxD", help="HOSTSxDEVICES; by default one host of as many as the module needs")
    add(
        "--xla-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="compile with this XLA option; repeatable",
    )
    add("--format", choices=("text", "json", "sarif"), default="text", help="of the report on stdout [text]")
    add("--fail-on", action="append", default=[], metavar="METRIC>N", help="exit 5 when this holds; repeatable")
    add("--try-hints", action="store_true", help="compile with the options that the hints name, and show what changes")
    add("--time-limit", type=float, default=300.0, metavar="SECONDS", help="for one compile [300]")
    add("--no-cache", action="store_true", help="compile again, and keep no answer")
    return parser
