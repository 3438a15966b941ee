"""hlo-calibrate measures what transfers cost on this machine, and writes the target file that hlo-opt takes.

hlo-calibrate -o here.toml && hlo-opt step.mlir --overlap --topology=1x2x4 --target=here.toml
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Costs, Link
from hloverlap.tools import exit_status
from hloverlap.tools import main as shell
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError
from hloverlap.tools.parser import Parser

_WORKER = "hloverlap.tools.calibrate.worker"
_BASE = "cpu"
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

    text = as_toml(measure(given.processes, given.devices), given.processes, given.devices)
    targets.parse(text, "here")  # what is written can be read
    writing.write_whole(text.encode(), given.output)
    return ExitStatus.FINE


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "hlo-calibrate",
        "Measures what transfers between real processes cost on the CPUs here, and writes a target file for --target.",
        exit_status.help_text(),
    )
    add = parser.add_argument
    add("--processes", type=int, default=2, metavar="N", help="how many, at least 2 [2]")
    add("--devices", type=int, default=4, metavar="N", help="of each, at least 2 [4]")
    add("-o", "--output", default="-", metavar="FILE", help="write here, whole or not at all; '-' is stdout [-]")
    return parser


def measure(processes: int, devices: int, seconds: float = _SECONDS) -> Costs:
    """Measures what transfers cost on this machine. Raises LaunchError."""
    from hloverlap.pipeline.children.process_group import launch

    said = launch(_WORKER, None, processes, devices, seconds)
    names = said[0][0]
    return costs({name: max(each[0][name] for each in said) for name in names}, said[0][1])


def costs(seconds: Mapping[str, float], bytes: Mapping[str, int]) -> Costs:
    """Gives the costs from the seconds of one permute of each kind: see `calibrate.worker` for the names.

    bytes: small, large, copied. A permute that every device sends to itself is all launch. Of one over a link, the
    small one is launch and latency, and what the large one takes besides is bandwidth.
    """
    launch = max(_SMALLEST, 1e6 * seconds["self"])

    def link(name: str) -> Link:
        small, large = (1e6 * seconds[f"{name} {size}"] for size in ("small", "large"))
        moved = bytes["large"] - bytes["small"]
        return Link(
            latency=_rounded(max(_SMALLEST, small - launch)),
            bandwidth=_rounded(moved / max(_SMALLEST, large - small)),
        )

    return Costs(
        launch=_rounded(launch),
        copy=_rounded(2 * bytes["copied"] / max(_SMALLEST, 1e6 * seconds["copy"])),
        same_process=link("same process"),
        same_host=link("same host"),
        cross_host=link("same host"),  # the least that it can be; nothing here measures a network
    )


def as_toml(costs: Costs, processes: int, devices: int) -> str:
    """Writes a target file with these costs; all else is as for any CPU."""
    lines = [f"# Measured by hlo-calibrate among {processes} processes of {devices} devices.", f'base = "{_BASE}"']
    links: list[str] = []
    lines += ["", "[costs]"]
    for field in dataclasses.fields(costs):
        value = getattr(costs, field.name)
        if isinstance(value, Link):
            links += ["", f"[costs.{field.name}]", f"latency = {value.latency}", f"bandwidth = {value.bandwidth}"]
        elif value is not None and value != field.default:
            lines.append(f"{field.name} = {value}")
    return "\n".join([*lines, *links, ""])


def _rounded(value: float) -> float:
    """Rounds to three digits: there are no more in a measurement."""
    return float(f"{value:.3g}")


if __name__ == "__main__":
    sys.exit(main())
