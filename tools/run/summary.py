"""Writes what hlo-run says at the end: which functions were rewritten, how, and why others were not."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hloverlap.tools.run.workers import Process
from hloverlap.tools.tables import Table, layout

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.import_hook import State
    from hloverlap.pipeline.jax_jit.records import CompileRecord

_MOST_REMARKS = 20  # lines for one function; JSON has all


def show(form: str, path: str | None, state: State, others: Sequence[Process] = ()) -> None:
    """Writes the summary. Never raises: the program is over.

    form: text, json or none. path: a file; None is stderr. state: of this process. others: that the program started.
    """
    if form == "none":
        return
    decorated = path is None and sys.stderr.isatty()
    # What no jax was imported for is not loaded at the end either.
    processes = [_this_process(state) if state.imported else Process(os.getpid(), state), *others]
    text = as_json(processes) if form == "json" else as_text(processes, decorated)
    try:
        if path is None:
            print(text, file=sys.stderr, flush=True)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    except (OSError, ValueError) as error:
        print(f"hlo-run: the summary could not be written: {error}", file=sys.__stderr__)


def as_json(processes: Sequence[Process]) -> str:
    """Gives one object: whether jax was imported, what kept the pipeline from being installed, and every record.

    processes: of which at least the first was hlo-run's own.
    """
    described = [
        dataclasses.asdict(record) | {"changes": record.changes, "process": process.pid}
        for process in processes
        for record in process.records
    ]
    summary = {
        "jax_imported": any(process.state.imported for process in processes),
        "error": next((process.state.error for process in processes if process.state.error), ""),
        "processes": [{"pid": each.pid, "jax_imported": each.state.imported} for each in processes],
        "functions": described,
    }
    dropped = sum(process.dropped for process in processes)
    return json.dumps(summary | ({"functions_dropped": dropped} if dropped else {}), indent=2)


def as_text(processes: Sequence[Process], decorated: bool = False) -> str:
    """Gives a table of the functions, the remarks on each, and one line for those with nothing to say.

    A function that was compiled several times with the same outcome is one row, whatever process did it.
    """
    processes = [process for process in processes if process.state.imported]
    if not processes:
        return "hlo-run: the program did not import jax"
    failed = [process.state.error for process in processes if process.state.error]
    if len(failed) == len(processes):
        return f"hlo-run: the program ran as it was written: the pipeline could not be installed: {failed[0]}"
    records = [record for process in processes for record in process.records]
    rewritten = sum(record.outcome == "rewritten" for record in records)
    among = f", in {len(processes)} processes" if len(processes) > 1 else ""
    lines = [f"hlo-run: {rewritten} of {len(records)} compiled functions were rewritten{among}"]
    if failed:
        lines.append(f"In {len(failed)} of the processes the pipeline could not be installed: {failed[0]}")
    if dropped := sum(process.dropped for process in processes):
        lines.append(f"{dropped} more were compiled, of which nothing was kept.")
    shown: dict[tuple[object, ...], list[CompileRecord]] = {}
    for record in filter(_is_worth_a_row, records):
        shown.setdefault(_alike(record), []).append(record)
    if shown:
        lines.append(layout(Table(_HEAD, [_row(alike) for alike in shown.values()], elastic=(0, 4)), decorated))
    if hidden := [record for record in records if not _is_worth_a_row(record)]:
        lines.append(f"{len(hidden)} more had nothing to rewrite.")
        # Asked for, so it is said even where it came to nothing.
        lines += dict.fromkeys(record.partitioner.message for record in hidden if record.partitioner)
        unseen = Counter(remark.message for record in hidden for remark in record.remarks)
        lines += [f"For {count} of them: {message}" for message, count in unseen.items()]
    for record, *more in shown.values():
        if details := _details(record):
            times = f" ({1 + len(more)} times)" if more else ""
            lines += [f"{record.title}{times}:", *(f"  {line}" for line in details)]
    return "\n".join(lines)


_HEAD = ["function", "times", "devices", "outcome", "what was done", "passes", "XLA"]


def _is_worth_a_row(entry: CompileRecord) -> bool:
    from hloverlap.passes.assign_collective_streams import HIDDEN

    told = any(remark.code != HIDDEN for remark in entry.remarks)  # one line is enough for many functions of that kind
    return entry.outcome != "unchanged" or told or bool(entry.partitioner and entry.partitioner.remarks)


def _alike(record: CompileRecord) -> tuple[object, ...]:
    """Gives what is equal for records of which the same can be said."""
    same = record.title, record.platform, record.devices, record.outcome, record.changes
    return (*same, *_details(record))


def _row(alike: Sequence[CompileRecord]) -> list[str]:
    record = alike[0]
    return [
        record.title,
        str(len(alike)),
        f"{record.devices} {record.platform}",
        record.outcome,
        record.changes if record.outcome == "rewritten" else "",
        f"{sum(each.rewrite_seconds for each in alike) * 1e3:.0f} ms",
        f"{sum(each.compile_seconds for each in alike):.2f} s",
    ]


def _details(entry: CompileRecord) -> list[str]:
    from hloverlap.pipeline.messages import remarks

    lines = [] if entry.outcome in ("rewritten", "unchanged") else [entry.message]
    told = [*entry.remarks, *(entry.partitioner.remarks if entry.partitioner else ())]
    counts = Counter(remarks.as_text(remark, entry.title) for remark in told)
    texts = [f"{count} x {text}" if count > 1 else text for text, count in counts.items()]
    lines += texts[:_MOST_REMARKS]
    if len(texts) > _MOST_REMARKS:
        lines.append(f"and {len(texts) - _MOST_REMARKS} more remarks (--summary=json has all)")
    if entry.partitioner:
        lines.append(entry.partitioner.message)
    if entry.options:
        lines.append(f"XLA options added: {remarks.xla_flags(entry.options)}")
    if entry.options_kept:
        lines.append(f"XLA options left as the user set them: {', '.join(entry.options_kept)}")
    return lines


def _this_process(state: State) -> Process:
    from hloverlap.pipeline.jax_jit.session import SESSION

    return Process(os.getpid(), state, tuple(SESSION.log), SESSION.log.dropped)
