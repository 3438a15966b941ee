"""hlo-calibrate: measures what transfers cost on this machine, and writes the target file that hlo-opt takes.

hlo-calibrate -o here.json && hlo-opt step.mlir --overlap --topology=2x4 --target=here.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from hloverlap.tools import exit_status
from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError
from hloverlap.tools.parser import Parser

_WORKER = "hloverlap.tools.calibrate.worker"
_SECONDS = 300.0
_SMALLEST = 0.1  # microseconds: less than this is noise, and 0 is no time


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status. argv: without the program's name; by default the process's."""
    return shell.run("hlo-calibrate", _main, argv)


def _main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(argv)
    if given.processes < 2 or given.devices < 2:
        raise UsageError("one link is between processes and one within, so both take two: --processes=2 --devices=2")
    from hloverlap.pipeline.formats import writing

    text = json.dumps(measure(given.processes, given.devices), indent=1) + "\n"
    writing.write_whole(text.encode(), given.output)
    return ExitStatus.FINE


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "hlo-calibrate",
        "Measures what transfers between real processes cost here, for hlo-opt --target=FILE.",
        exit_status.help_text(),
    )
    add = parser.add_argument
    add("--processes", type=int, default=2, metavar="N", help="how many, at least 2 [2]")
    add("--devices", type=int, default=4, metavar="N", help="of each, at least 2 [4]")
    add("-o", "--output", default="-", metavar="FILE", help="write here, whole or not at all; '-' is stdout [-]")
    return parser


def measure(processes: int, devices: int, seconds: float = _SECONDS) -> dict[str, Any]:
    """Gives the constants of this machine, as `cost.load` reads them. Raises LaunchError."""
    from hloverlap.pipeline.children.process_group import launch

    said = launch(_WORKER, None, processes, devices, seconds)
    names = said[0][0]
    return constants({name: max(each[0][name] for each in said) for name in names}, said[0][1])


def constants(seconds: Mapping[str, float], bytes: Mapping[str, int]) -> dict[str, Any]:
    """From seconds of one permute of each kind: see `calibrate_worker` for the names. bytes: small, large, copied.

    A permute that every device sends to itself is all launch. Of one over a link, the small one is launch and latency,
    and what the large one takes besides is bandwidth.
    """
    from hloverlap.passes.analysis import cost

    launch = max(_SMALLEST, 1e6 * seconds["self"])

    def link(name: str) -> dict[str, float]:
        small, large = (1e6 * seconds[f"{name} {size}"] for size in ("small", "large"))
        moved = bytes["large"] - bytes["small"]
        return {
            "latency": _rounded(max(_SMALLEST, small - launch)),
            "bandwidth": _rounded(moved / max(_SMALLEST, large - small)),
        }

    found = {
        "base": "gloo",
        "launch": _rounded(launch),
        "copy": _rounded(2 * bytes["copied"] / max(_SMALLEST, 1e6 * seconds["copy"])),
        "same_host": link("same host"),
        "cross_host": link("cross host"),
    }
    cost.load(json.dumps(found))  # what is written can be read
    return found


def _rounded(value: float) -> float:
    """Three digits: there are no more in a measurement."""
    return float(f"{value:.3g}")


if __name__ == "__main__":
    sys.exit(main())
