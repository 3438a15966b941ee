"""hlo-audit says what XLA will do with the collectives of one module or two, and whether that got better."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.topology import FORMS
from hloverlap.tools import exit_status
from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.parser import Parser

_EPILOG = f"""\
metrics for --fail-on: failed, collectives, launches, serialized, in_flight, synchronous, exposed, streams, groups,
bytes, exposed_bytes, hidden_flops, hidden_bytes, peak_memory (bytes), time (predicted, in microseconds), lost
(serialized + exposed); of the second module where there are two.

XLA_FLAGS of the environment do not count; give options with --xla-option. Answers are kept in $HLOVERLAP_CACHE, or
in ~/.cache/hloverlap.

{exit_status.help_text(ExitStatus.WORSE, ExitStatus.OVER_BUDGET)}"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status. argv: without the program's name; by default the process's."""
    return shell.run("hlo-audit", _main, argv)


def _main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(argv)
    from hloverlap.tools.audit.command import run

    return run(given)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "hlo-audit",
        "Compiles a module for a GPU that need not be there, and says what became of each collective.",
        _EPILOG,
    )
    add = parser.add_argument
    add("module", metavar="MODULE", help="any format that hlo-opt reads; '-' is stdin")
    add("after", metavar="AFTER", nargs="?", help="a second module, compared with the first")
    add(
        "--pass-pipeline",
        metavar="TEXT",
        help="compare MODULE with what this pipeline makes of it for the target",
    )
    known = f"{targets.described()}, {targets.LOCAL} (the GPU that is there)"
    add("--target", default="h200", metavar="NAME|FILE", help=f"{known}, or a TOML file of your own [h200]")
    add("--topology", metavar="HxD", help=f"{FORMS} [one process with as many as the module needs]")
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
    add("--timeline", metavar="FILE", help="write the predicted run as a trace that ui.perfetto.dev opens")
    add("--time-limit", type=float, default=300.0, metavar="SECONDS", help="for one compile [300]")
    add("--no-cache", action="store_true", help="compile again, and keep no answer")
    return parser


if __name__ == "__main__":
    sys.exit(main())
