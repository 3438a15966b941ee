"""Does what hlo-audit does between its arguments and its exit status."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator

from hloverlap.passes import assign_collective_streams
from hloverlap.passes.errors import PipelineTextError
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.audit import audits
from hloverlap.pipeline.audit.audits import Audit, Comparison, Setting, Subject
from hloverlap.pipeline.audit.verdict import Budget
from hloverlap.pipeline.formats import reading
from hloverlap.pipeline.formats.errors import WriteError
from hloverlap.tools.audit import report
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError

Options = dict[str, CompileOption]


def run(given: argparse.Namespace) -> int:
    """Audits and reports; returns the exit status. Raises what reading, passes and audits raise, and UsageError."""
    if given.after and given.pass_pipeline:
        raise UsageError("give a second module or --pass-pipeline, not both")
    with _mistakes_are_usage():
        budgets = [Budget.parse(text) for text in given.fail_on]
        setting = Setting(
            target=audits.find_target(given.target),
            topology=None if given.topology is None else Topology.parse(given.topology),
            time_limit=given.time_limit,
            use_cache=not given.no_cache,
            progress=_progress if sys.stderr.isatty() else None,
        )
        asked = parse_options(given.xla_option)
    source = reading.read_path(given.module, make_context())
    first = Subject(source.module, source.name, asked)
    found: Audit | Comparison
    with _mistakes_are_usage():  # of the topology, and of the options, which only XLA knows
        second = _second(given, first, setting, asked)
        if second is None:
            found = last = audits.audit_one(first, setting)
        else:
            found = audits.compare(first, second, setting)
            last = found.after
        trials = audits.try_hints(second or first, last, setting) if given.try_hints else []
    print(report.render(found, trials, setting, given.format))
    if given.timeline:
        _write_timeline(given.timeline, found)
    broken = [text for budget in budgets if (text := budget.broken_by(last.totals))]
    for text in broken:
        print(f"hlo-audit: over budget: {text}", file=sys.stderr)
    if found.verdict.word in ("worse", "unknown") if isinstance(found, Comparison) else last.totals.failed:
        return ExitStatus.WORSE
    return ExitStatus.OVER_BUDGET if broken else ExitStatus.FINE


def _write_timeline(path: str, found: Audit | Comparison) -> None:
    """Writes the predicted run, or both. Raises WriteError."""
    from hloverlap.pipeline.prediction import timeline

    audits = {"before": found.before, "after": found.after} if isinstance(found, Comparison) else {"": found}
    runs = {
        f"{when} {audit.name} {audit.label}".strip(): audit.prediction
        for when, audit in audits.items()
        if audit.prediction
    }
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(timeline.trace(runs))
    except OSError as error:
        raise WriteError(f"cannot write {path}: {error.strerror}") from error


@contextlib.contextmanager
def _mistakes_are_usage() -> Iterator[None]:
    """Turns what is wrong with a value on the command line, for which ValueError stands below, into UsageError."""
    try:
        yield
    except (ValueError, PipelineTextError) as error:
        raise UsageError(str(error)) from error


def parse_options(texts: list[str]) -> Options:
    """Reads options, each ``NAME=VALUE``; a whole number and true or false are what they say. Raises ValueError."""
    options: Options = {}
    for text in texts:
        name, equals, value = text.lstrip("-").partition("=")
        if not equals or not re.fullmatch(r"\w+", name):
            raise ValueError(f"--xla-option '{text}' is not like xla_gpu_dot_merger_threshold_mb=0")
        options[name] = (
            int(value) if re.fullmatch(r"-?\d+", value) else {"true": True, "false": False}.get(value, value)
        )
    return options


def _second(given: argparse.Namespace, first: Subject, setting: Setting, asked: Options) -> Subject | None:
    """Gives the module to compare with, compiled with what hlo-opt names for it; the user's own options hold."""
    if given.pass_pipeline:
        return audits.rewritten(first, given.pass_pipeline, setting)
    if given.after:
        source = reading.read_path(given.after, make_context())
        named = assign_collective_streams.needed_options(source.module.operation)
        return Subject(source.module, source.name, {**named, **asked})
    return None


def _progress(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\rcompiling: {done} of {total} done", end=end, file=sys.stderr, flush=True)
