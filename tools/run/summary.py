"""Writes what hlo-run says at the end: which functions were rewritten, how, and why others were not."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hloverlap.tools.tables import Table, layout

if TYPE_CHECKING:
    from hloverlap.pipeline.jax_jit.import_hook import State
    from hloverlap.pipeline.jax_jit.records import CompileRecord

_MOST_REMARKS = 20  # lines for one function; JSON has all


def show(form: str, path: str | None, state: State) -> None:
    """Writes the summary. form: text, json or none. path: a file; None is stderr. Never raises: the program is over."""
    if form == "none":
        return
    decorated = path is None and sys.stderr.isatty()
    # What no jax was imported for is not loaded at the end either.
    entries, dropped = _entries() if state.imported else ((), 0)
    text = as_json(entries, state, dropped) if form == "json" else as_text(entries, state, decorated, dropped)
    try:
        if path is None:
            print(text, file=sys.stderr, flush=True)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    except (OSError, ValueError) as error:
        print(f"hlo-run: the summary could not be written: {error}", file=sys.__stderr__)


def as_json(entries: Iterable[CompileRecord], state: State, dropped: int = 0) -> str:
    """Gives one object: whether jax was imported, what kept the pipeline from being installed, and every record.

    dropped: how many older records there were (see `RecordLog`).
    """
    described = [dataclasses.asdict(entry) | {"changes": entry.changes} for entry in entries]
    summary = {"jax_imported": state.imported, "error": state.error, "functions": described}
    return json.dumps(summary | ({"functions_dropped": dropped} if dropped else {}), indent=2)


def as_text(entries: tuple[CompileRecord, ...], state: State, decorated: bool = False, dropped: int = 0) -> str:
    """Gives a table of the functions, the remarks on each, and one line for those with nothing to say.

    dropped: how many older records there were (see `RecordLog`).
    """
    if not state.imported:
        return "hlo-run: the program did not import jax"
    if state.error:
        return f"hlo-run: the program ran as it was written: the pipeline could not be installed: {state.error}"
    shown = [entry for entry in entries if _is_worth_a_row(entry)]
    rewritten = sum(entry.outcome == "rewritten" for entry in entries)
    lines = [f"hlo-run: {rewritten} of {len(entries)} compiled functions were rewritten"]
    if dropped:
        lines.append(f"{dropped} more were compiled before these; only the newest are kept.")
    if shown:
        lines.append(layout(Table(_HEAD, [_row(entry) for entry in shown]), decorated))
    if hidden := [entry for entry in entries if entry not in shown]:
        lines.append(f"{len(hidden)} more had nothing to rewrite.")
        # Asked for, so it is said even where it came to nothing.
        lines += dict.fromkeys(entry.partitioner.message for entry in hidden if entry.partitioner)
    for entry in shown:
        if details := _details(entry):
            lines += [f"{entry.function}:", *(f"  {line}" for line in details)]
    return "\n".join(lines)


_HEAD = ["function", "devices", "outcome", "what was done", "passes", "XLA"]


def _is_worth_a_row(entry: CompileRecord) -> bool:
    return entry.outcome != "unchanged" or bool(entry.remarks) or bool(entry.partitioner and entry.partitioner.remarks)


def _row(entry: CompileRecord) -> list[str]:
    return [
        entry.function,
        f"{entry.devices} {entry.platform}",
        entry.outcome,
        entry.changes if entry.outcome == "rewritten" else "",
        f"{entry.rewrite_seconds * 1e3:.0f} ms",
        f"{entry.compile_seconds:.2f} s",
    ]


def _details(entry: CompileRecord) -> list[str]:
    from hloverlap.pipeline.messages import remarks

    lines = [] if entry.outcome in ("rewritten", "unchanged") else [entry.message]
    told = [*entry.remarks, *(entry.partitioner.remarks if entry.partitioner else ())]
    counts = Counter(remarks.as_text(remark, entry.function) for remark in told)
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


def _entries() -> tuple[tuple[CompileRecord, ...], int]:
    """Gives the records of the process, and how many older ones it no longer has."""
    from hloverlap.pipeline.jax_jit.session import SESSION

    return tuple(SESSION.log), SESSION.log.dropped
