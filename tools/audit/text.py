"""Writes an audit as text: a table of collectives, totals, findings, hints and the verdict."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from hloverlap.passes.remark import place
from hloverlap.pipeline.audit.audits import Audit, Comparison, Setting, Trial
from hloverlap.pipeline.audit.compiled import Program
from hloverlap.pipeline.audit.launches import Launch
from hloverlap.pipeline.audit.op_ids import CollectiveOp
from hloverlap.pipeline.audit.verdict import Totals
from hloverlap.pipeline.messages.remarks import as_text, xla_flags
from hloverlap.pipeline.prediction.comparing import duration
from hloverlap.pipeline.prediction.durations import REFERENCE
from hloverlap.tools.tables import Table, layout

_STEPS = 4  # of the critical path, those that take longest
_TOTALS = (
    ("independent pairs run in turn", "serialized"),
    ("pairs in flight together", "in_flight"),
    ("collectives", "collectives"),
    ("  synchronous", "synchronous"),
    ("launches", "launches"),
    ("  that no compute hides", "exposed"),
    ("  of them groups", "groups"),
    ("communication streams", "streams"),
    ("bytes received", "bytes"),
    ("compute beside transfers", "hidden_flops"),
    ("peak memory", "peak_memory"),
    ("predicted time", "time"),
)


def render(found: Audit | Comparison, trials: Sequence[Trial], setting: Setting, decorated: bool) -> str:
    """Writes the whole report. decorated: for a terminal; else plain columns, and the same words."""
    audits = [found.before, found.after] if isinstance(found, Comparison) else [found]
    blocks = []
    said: list[str] = []
    for audit in audits:
        blocks.append(_heading(audit, setting))
        if isinstance(audit.outcome, Program):
            blocks.append(layout(_collectives(audit, audit.outcome.launches), decorated))
        sentences = _sentences(audit)
        # Of two modules the same is said once; a line of the module's own text is one of another file then.
        plain = [sentence.replace(audit.name, "") for sentence in sentences]
        lines = [sentence for sentence, text in zip(sentences, plain, strict=True) if text not in said]
        if repeated := len(sentences) - len(lines):
            lines.append(f"{repeated} of the above: the same here")
        blocks.append("\n".join([*lines, *_prediction(audit)]))
        said += plain
    if not all(audit.totals.failed for audit in audits):
        blocks.append(layout(_totals(found), decorated))
    if trials:
        blocks.append(layout(_trials(audits[-1], trials), decorated))
    if isinstance(found, Comparison):
        blocks.append(f"warning: {found.verdict.warning}" if found.verdict.warning else "")
        blocks.append(f"verdict: {found.verdict.word}: {found.verdict.reason}")
    return "\n\n".join(block for block in blocks if block)


def _heading(audit: Audit, setting: Setting) -> str:
    import jaxlib.version

    options = xla_flags(audit.options) or "XLA's default options"
    name = f"{audit.name} {audit.label}".rstrip()
    return f"{name}: {setting.target.name}, {audit.topology}, jaxlib {jaxlib.version.__version__}, {options}"


def _collectives(audit: Audit, launches: Sequence[Launch]) -> Table:
    """Makes a row for each collective of the module and each way in which XLA runs it, then what XLA added."""
    rows = []
    for op in audit.collectives:
        ways: dict[str, list[int]] = {}
        for index, launch in enumerate(launches):
            if op.id in launch.ids:
                ways.setdefault(_mode(launch, op.id), []).append(index)
        start = [f"#{op.id}", _source(op, audit.name), op.kind, _size(op.bytes)]
        rows += [start + _way(op.id, mode, indexes, launches) for mode, indexes in ways.items()]
        if not ways:
            rows.append([*start, "removed", "0", "-", "-"])
    for index, launch in enumerate(launches):
        if not launch.ids:
            start = ["added", launch.origin, launch.kind.replace("-", "_"), _size(launch.bytes)]
            rows.append(start + _way(-1, _mode(launch, -1), [index], launches))
    head = ["op", "source", "collective", "bytes", "what XLA runs", "times", "in flight with", "hidden by"]
    return Table(head, rows, elastic=(1, 6))


def _way(own: int, mode: str, indexes: Sequence[int], launches: Sequence[Launch]) -> list[str]:
    """Fills the columns from "what XLA runs" on, for launches of one op that XLA runs alike."""
    chosen = [launches[index] for index in indexes]
    company = [id for launch in chosen for other in launch.beside for id in launches[other].ids or (-1,)]
    company += [id for launch in chosen if launch.group for id in launch.ids if id != own]
    hiding = max(chosen, key=lambda launch: (launch.flops, launch.moved))
    return [
        mode,
        str(sum(launch.runs for launch in chosen)),
        " ".join(f"#{id}" if id >= 0 else "added" for id in dict.fromkeys(company)) or "-",
        _work(hiding.flops, hiding.moved) if hiding.hidden else "too little" if hiding.moved else "nothing",
    ]


def _mode(launch: Launch, own: int) -> str:
    match = re.fullmatch(r"(communication|computation)_stream\[(\d+)\]", launch.stream)
    stream = f"{'' if match[1] == 'communication' else 'compute '}stream {match[2]}" if match else launch.stream
    mode = "sync" if launch.synchronous else f"async {stream}"
    if launch.group:
        return f"{mode}, group of {launch.members}"
    others = [id for id in launch.ids if id != own]
    return f"{mode}, joined with {' '.join(f'#{id}' for id in others)}" if others else mode


def _sentences(audit: Audit) -> list[str]:
    lines = []
    for finding in audit.findings:
        about = " ".join(f"#{id}" for id in finding.ids)
        about = f"{about}: " if about and finding.code != "HLA001" else ""
        lines.append(as_text(dataclasses.replace(finding, message=f"{about}{finding.message}"), audit.name))
    for hint in audit.hints:
        options = f" ({xla_flags(dict(hint.options))})" if hint.options else ""
        lines.append(f"hint: {hint.code}: {hint.message}{options}")
    return lines


def _prediction(audit: Audit) -> list[str]:
    """Says how long the program takes, where the time goes, and what that rests on."""
    found = audit.prediction
    if found is None:
        return []
    spent = found.spent
    lines = [
        f"predicted time: {duration(found.time)}: compute {duration(spent.compute)}, beside it "
        f"{duration(spent.hidden)} of transfers; transfers alone {duration(spent.exposed)}; "
        f"waiting for the host {duration(spent.idle)}"
    ]
    path = found.critical_path()
    whole = sum(path.values())
    if whole:
        steps = [f"{doing} {time / whole:.0%}" for doing, time in list(path.items())[:_STEPS]]
        lines.append(f"critical path: {', '.join(steps)}")
    if found.borrowed:
        lines.append(f"nobody has measured {', '.join(found.borrowed)} there: the {REFERENCE}'s stand in")
    return lines


def _totals(found: Audit | Comparison) -> Table:
    columns = [found.before, found.after] if isinstance(found, Comparison) else [found]
    head = ["totals", *(("before", "after") if len(columns) > 1 else ("",))]
    return Table(head, [[label, *(_total(each.totals, name) for each in columns)] for label, name in _TOTALS])


def _trials(audit: Audit, trials: Sequence[Trial]) -> Table:
    head = ["options tried", "in turn", "in flight", "sync", "nothing hides", "launches", "peak memory", "time"]
    rows = [["as it is", *_figures(audit.totals)]]
    for trial in trials:
        label = f"{trial.hint}: {' '.join(f'{name}={value}' for name, value in trial.options.items())}"
        figures = [f"{trial.failure.kind}: {trial.failure.message}"] if trial.failure else _figures(trial.totals)
        rows.append([label, *figures, *[""] * (len(head) - 1 - len(figures))])
    return Table(head, rows, elastic=(0, 1))


def _figures(totals: Totals) -> list[str]:
    names = ("serialized", "in_flight", "synchronous", "exposed", "launches", "peak_memory", "time")
    return [_total(totals, name) for name in names]


def _total(totals: Totals, name: str) -> str:
    if totals.failed:
        return "-"
    value: int = getattr(totals, name)
    if name == "time":
        return duration(value)
    if name in ("bytes", "peak_memory"):
        return _size(value)
    return _work(value, totals.hidden_bytes) if name == "hidden_flops" else str(value)


def _source(op: CollectiveOp, name: str) -> str:
    return place(op.file, op.line, name).rsplit("/", 1)[-1]


def _work(flops: int, moved: int) -> str:
    return f"{_scaled(flops, 1000, ('', 'K', 'M', 'G', 'T', 'P'))}FLOP, {_size(moved)}"


def _size(number: int) -> str:
    return f"{_scaled(number, 1024, ('', 'Ki', 'Mi', 'Gi', 'Ti'))}B"


def _scaled(number: int, base: int, units: Sequence[str]) -> str:
    value, rank = float(number), 0
    while value >= base and rank < len(units) - 1:
        value, rank = value / base, rank + 1
    return f"{value:.1f} {units[rank]}" if rank else f"{number} "
