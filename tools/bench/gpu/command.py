"""Runs the command line of the benchmark."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
from typing import Any

from hloverlap.passes.errors import TargetError
from hloverlap.passes.machine import targets
from hloverlap.tools.bench.gpu import comparing, report
from hloverlap.tools.bench.gpu.constants import constants
from hloverlap.tools.bench.gpu.journal import Order
from hloverlap.tools.bench.gpu.supervising import Outcome, Supervisor

_MOST_TRACES = 4
_TRACE_BYTES = 12 << 20
_TRACED = ("plain", "streams", "groups", "streams+peer")


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 where nothing was measured, or 2 for bad arguments."""
    arguments = _parser().parse_args(argv)
    if arguments.command == "report":
        return _report(arguments.results)
    if arguments.command == "compare":
        return _compare(arguments.measured, arguments.results, arguments.devices)
    return _run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="Measure what runs faster on GPUs, and why.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, and write results as they come")
    run.add_argument(
        "--seconds", type=float, default=540.0, help="end after this long, with what there is (default: 540)"
    )
    run.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench"),
        help="folder for results.json, report.md and a few traces",
    )
    run.add_argument("--devices", type=int, default=0, help="how many devices (default: all)")
    run.add_argument("--platform", default="", help="JAX's platform, such as cpu (default: its choice)")
    run.add_argument("--compile-for", type=int, metavar="N", help="only compile, for N GPUs that need not be there")
    run.add_argument(
        "--target",
        type=_target,
        default="h200",
        help=f"with --compile-for: {targets.described()}, or a TOML file (default: h200)",
    )
    run.add_argument("--only", action="append", default=[], metavar="TEXT", help="only cases with this in their name")
    run.add_argument("--tiny", action="store_true", help="sizes for a test on CPUs")
    run.add_argument("--case-seconds", type=float, default=6.0, help="time each case for about this long (default: 6)")
    shown = commands.add_parser("report", help="the tables of a results.json as Markdown")
    shown.add_argument("results", type=pathlib.Path)
    compared = commands.add_parser("compare", help="predicted times of a run with --compile-for beside measured ones")
    compared.add_argument("measured", type=pathlib.Path, help="a report, such as docs/measurements.md")
    compared.add_argument("results", type=pathlib.Path, help="results.json of `run --compile-for N`")
    compared.add_argument("--devices", type=int, default=2, help="how many it was compiled for (default: 2)")
    return parser


def _target(text: str) -> str:
    """Gives the name of a target, or the whole path of the file of one, for a worker that runs elsewhere."""
    try:
        targets.find(text)
    except TargetError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text if text in targets.names() or not os.path.isfile(text) else os.path.abspath(text)


def _report(path: pathlib.Path) -> int:
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        text = report.markdown(results)
    except (OSError, ValueError) as error:
        print(f"bench: error: {path} cannot be read: {error}", file=sys.stderr)
        return 1
    except (KeyError, TypeError, AttributeError):
        print(f"bench: error: {path} holds no results of this benchmark", file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0


def _compare(report_path: pathlib.Path, path: pathlib.Path, devices: int) -> int:
    try:
        real = comparing.measured(report_path.read_text(encoding="utf-8"))
        guessed = comparing.predicted(json.loads(path.read_text(encoding="utf-8")), devices)
        sys.stdout.write(comparing.markdown(real, guessed))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"bench: error: {report_path} and {path} cannot be compared: {error}", file=sys.stderr)
        return 1
    return 0


def _run(arguments: argparse.Namespace) -> int:
    started = time.time()
    arguments.output.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.6")  # NCCL and cuBLAS need memory of their own
    order = Order(
        mode="measure",
        devices=arguments.devices,
        platform=arguments.platform,
        target=arguments.target,
        tiny=arguments.tiny,
        deadline=started + arguments.seconds,
        case_seconds=arguments.case_seconds,
        only=tuple(arguments.only),
    )
    results: dict[str, Any] = _as_results(Outcome(), started)
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        if arguments.compile_for is None:
            measured = Supervisor(
                order, folder / "measure", lambda outcome: _save(results, outcome, started, arguments.output)
            )
            measured.run()
            _keep_traces(folder / "measure" / "traces", arguments.output)
        count = arguments.compile_for or (2 if results["machine"].get("devices") == 1 else 0)
        if count:
            compiling = Order(**{**order.__dict__, "mode": "compile", "devices": count})

            def save_compiled(outcome: Outcome) -> None:
                results.setdefault("compiled", {})[str(count)] = _as_results(outcome, started)
                _write(results, arguments.output)

            Supervisor(compiling, folder / "compile", save_compiled).run()
    results["seconds"] = time.time() - started
    _write(results, arguments.output)
    (arguments.output / "report.md").write_text(report.markdown(results), encoding="utf-8")
    sys.stdout.write(report.summary(results))
    return 0 if results["cases"] or results.get("compiled") else 1


def _as_results(outcome: Outcome, started: float) -> dict[str, Any]:
    cases = list(outcome.results.values())
    return {
        "machine": outcome.machine,
        "seconds": time.time() - started,
        "cases": cases,
        "profiles": outcome.profiles,
        "skipped": outcome.skipped,
        "broken": outcome.broken,
        "constants": constants(cases, outcome.machine.get("devices", 0)),
    }


def _save(results: dict[str, Any], outcome: Outcome, started: float, output: pathlib.Path) -> None:
    results |= _as_results(outcome, started)
    _write(results, output)


def _write(results: dict[str, Any], output: pathlib.Path) -> None:
    """Writes the results, whole or not at all."""
    partial = output / "results.json.partial"
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    partial.replace(output / "results.json")


def _keep_traces(folder: pathlib.Path, output: pathlib.Path) -> None:
    """Keeps a few traces of one program, small enough to carry, each as one file to open in Perfetto."""
    traces = {path.relative_to(folder).parts[0]: path for path in sorted(folder.rglob("*.trace.json.gz"))}
    programs = list(dict.fromkeys(name.partition("@")[0] for name in traces))
    wanted = [f"{program}@{variant}" for program in programs for variant in _TRACED]
    for name in [name for name in wanted if name in traces][:_MOST_TRACES]:
        if traces[name].stat().st_size <= _TRACE_BYTES:
            shutil.copy(traces[name], output / f"{re.sub(r'[^A-Za-z0-9.-]', '_', name)}.trace.json.gz")
