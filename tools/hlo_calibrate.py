"""hlo-calibrate: measures what transfers cost on this machine, and writes the target file that hlo-opt takes.

hlo-calibrate -o here.json && hlo-opt step.mlir --overlap --topology=2x4 --target=here.json
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from hloverlap.passes.analysis import cost
from hloverlap.tools.bench.processes.process_group import LaunchError, launch

_WORKER = "hloverlap.tools.calibrate.worker"
_SECONDS = 300.0
_SMALLEST = 0.1  # microseconds: less than this is noise, and 0 is no time


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command: 0, or 1 where nothing could be measured, or 2 for bad arguments."""
    parser = argparse.ArgumentParser(
        prog="hlo-calibrate",
        description="Measure what transfers between real processes cost here, for hlo-opt --target=FILE.",
    )
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many, at least 2 (default: 2)")
    parser.add_argument("--devices", type=int, default=4, metavar="N", help="of each, at least 2 (default: 4)")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE", help="write here (default: stdout)")
    given = parser.parse_args(argv)
    if given.processes < 2 or given.devices < 2:
        parser.error("one link is between processes and one within, so both take two: --processes=2 --devices=2")
    try:
        text = json.dumps(measure(given.processes, given.devices), indent=1) + "\n"
        if given.output:
            given.output.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    except (LaunchError, OSError) as error:
        print(f"hlo-calibrate: error: {error}", file=sys.stderr)
        return 1
    return 0


def measure(processes: int, devices: int, seconds: float = _SECONDS) -> dict[str, Any]:
    """The constants of this machine, as `cost.load` reads them. Raises LaunchError."""
    said = launch(_WORKER, None, processes, devices, seconds)
    names = said[0][0]
    return constants({name: max(each[0][name] for each in said) for name in names}, said[0][1])


def constants(seconds: Mapping[str, float], bytes: Mapping[str, int]) -> dict[str, Any]:
    """From seconds of one permute of each kind: see `calibrate_worker` for the names. bytes: small, large, copied.

    A permute that every device sends to itself is all launch. Of one over a link, the small one is launch and latency,
    and what the large one takes besides is bandwidth.
    """
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
