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

_MOST_LINES = 30  # what a person still reads after the program's own output; JSON has all
_MOST_ROWS = 12


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

    A function that was compiled several times with the same outcome is one row, whatever process did it. Functions
    that were left unchanged come last. Of a long program it gives 30 lines, and says how many more there are.
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
    told = sorted(shown.values(), key=lambda alike: alike[0].outcome == "unchanged")
    if told:
        rows = [_row(alike) for alike in told[:_MOST_ROWS]]
        lines += layout(Table(_HEAD, rows, elastic=(0, 4)), decorated).split("\n")
    if len(told) > _MOST_ROWS:
        lines.append(f"{len(told) - _MOST_ROWS} more functions are in --summary=json.")
    notes: list[str] = []
    if hidden := [record for record in records if not _is_worth_a_row(record)]:
        lines.append(f"{len(hidden)} more had nothing to rewrite.")
        # Asked for, so it is said even where it came to nothing.
        notes += dict.fromkeys(record.partitioner.message for record in hidden if record.partitioner)
        unseen = Counter(remark.message for record in hidden for remark in record.remarks)
        notes += [f"For {count} of them: {message}" for message, count in unseen.items()]
    blocks = [_block(record, len(more)) for record, *more in told[:_MOST_ROWS]]
    blocks = [[note] for note in notes] + [block for block in blocks if len(block) > 1]
    return "\n".join([*lines, *_fitted(blocks, _MOST_LINES - len(lines))])


def _block(record: CompileRecord, more: int) -> list[str]:
    times = f" ({1 + more} times)" if more else ""
    return [f"{record.title}{times}:", *(f"  {line}" for line in _details(record))]


def _fitted(blocks: Sequence[Sequence[str]], room: int) -> list[str]:
    """Gives the first lines of each block, in equal shares of what the earlier ones leave of the room."""
    if sum(map(len, blocks)) <= room:
        return [line for block in blocks for line in block]
    lines: list[str] = []
    room -= 1  # for what says how many were left out
    for number, block in enumerate(blocks):
        left = room - len(lines)
        share = min(max(left // (len(blocks) - number), 2), left)
        if share > 1 or len(block) == share:  # a title alone says nothing
            lines += block[:share]
    return [*lines, f"{sum(map(len, blocks)) - len(lines)} more lines are in --summary=json."]


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
    if entry.partitioner:
        lines.append(entry.partitioner.message)
    if entry.options:
        lines.append(f"XLA options added: {remarks.xla_flags(entry.options)}")
    if entry.options_kept:
        lines.append(f"XLA options left as the user set them: {', '.join(entry.options_kept)}")
    told = [*entry.remarks, *(entry.partitioner.remarks if entry.partitioner else ())]
    return lines + remarks.as_lines(told, entry.title)


def _this_process(state: State) -> Process:
    from hloverlap.pipeline.jax_jit.session import SESSION

    return Process(os.getpid(), state, tuple(SESSION.log), SESSION.log.dropped)
