"""Says what an audit has found about each collective, as sentences with stable codes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence

from hloverlap.passes.remark import Remark
from hloverlap.pipeline.audit.compiled import Outcome
from hloverlap.pipeline.audit.diagnose import ops_at_fault
from hloverlap.pipeline.audit.foresight import ABORTS, Foreseen
from hloverlap.pipeline.audit.op_ids import CollectiveOp
from hloverlap.pipeline.xla.isolated_compile import Failure, Option

CODES = {
    "HLA001": "XLA did not compile the module",
    "HLA002": "a collective runs on the main stream, where no compute runs beside it",
    "HLA003": "no compute runs beside an asynchronous collective",
    "HLA004": "independent collectives run one after the other",
    "HLA005": "XLA combined collectives into one",
    "HLA006": "the partitioner or another XLA pass added a collective",
    "HLA007": "XLA removed a collective",
    "HLA101": "the overlap limit is too low for what could be in flight",
    "HLA102": "annotated permutes that XLA's combiner joins",
    "HLA103": "an annotation that XLA cannot use, or not as it is meant",
    "HLA104": "streams that share one NCCL communicator",
    "HLA105": "this version runs groups without compute beside them",
    "HLA106": "XLA's dot merger took away the compute that could hide transfers",
    "HLA107": "independent collectives that overlap would place on streams of their own",
}

# What XLA prints of an instruction beyond its name, shape, operands and pairs, our own id among it.
_BESIDE_THE_POINT = re.compile(r", (?:frontend_attributes|metadata|backend_config)=\{(?:[^{}]|\{[^{}]*\})*\}")

_VERBS = {
    "aborted": "XLA aborted",
    "refused": "XLA refused the module",
    "crashed": "XLA crashed",
    "killed": "the compile was killed",
    "exhausted": "the compile ran out of memory, or of something else",
    "timeout": "the compile was given up",
    "unavailable": "no compiler",
}


@dataclasses.dataclass(frozen=True)
class Finding(Remark):
    """What an audit says of one or several collectives; the place is that of the first."""

    ids: tuple[int, ...] = ()
    """The collectives, as `CollectiveOp.id` numbers them."""
    options: tuple[Option, ...] = ()
    """The XLA options that would help; () where none does."""


def find(outcome: Outcome, collectives: Sequence[CollectiveOp], foreseen: Sequence[Foreseen]) -> list[Finding]:
    """Lists all findings, failures first, then launch by launch, then what XLA removed."""
    if isinstance(outcome, Failure):
        return [_failure(outcome, collectives, foreseen)]
    found = []
    for index, launch in enumerate(outcome.launches):
        if launch.synchronous:
            found.append(_about(launch.ids, collectives, "HLA002", "warning", f"synchronous: {launch.lost}"))
        elif not launch.hidden:
            what = "too little runs beside it to hide it" if launch.moved else "nothing hides it"
            found.append(_about(launch.ids, collectives, "HLA003", "warning", f"{what}: {launch.lost}"))
        later = [peer for peer in launch.peers if peer > index and peer not in launch.beside]
        if later:
            named = _ops(id for peer in later for id in outcome.launches[peer].ids)
            shared = all(outcome.launches[peer].stream == launch.stream for peer in later)
            where = f", on stream {launch.stream}" if shared else ""
            text = (
                f"independent of {named or 'a transfer that XLA added'}, yet XLA runs them one after the other{where}"
            )
            found.append(_about(launch.ids, collectives, "HLA004", "warning", text))
        if len(launch.ids) > 1 and not launch.group:
            text = f"XLA joined {_ops(launch.ids)} into one"
            found.append(_about(launch.ids, collectives, "HLA005", "note", text))
        if not launch.ids:
            text = f"XLA added {launch.kind} {launch.instruction}" + (f" for {launch.origin}" if launch.origin else "")
            found.append(_about(launch.ids, collectives, "HLA006", "note", text))
    seen = {id for launch in outcome.launches for id in launch.ids}
    for op in collectives:
        if op.id not in seen:
            found.append(_about([op.id], collectives, "HLA007", "note", f"XLA removed {_ops([op.id])}"))
    return found


def _failure(failure: Failure, collectives: Sequence[CollectiveOp], foreseen: Sequence[Foreseen]) -> Finding:
    ids = ops_at_fault(failure, collectives, foreseen)
    why = next((each.text for each in foreseen if each.code in ABORTS and set(each.ids) & set(ids)), "")
    message = f"{_VERBS[failure.kind]}: {_BESIDE_THE_POINT.sub('', failure.message)}"
    if ids:
        message += f" [{_ops(ids)}{': ' + why if why and failure.kind == 'aborted' else ''}]"
    return _about(ids, collectives, "HLA001", "error", message)


def located(finding: Finding, collectives: Sequence[CollectiveOp]) -> Finding:
    """Puts a finding at the place of the first of its collectives; without a place where it is about none."""
    first = next((op for op in collectives if op.id in finding.ids), None)
    if first is None:
        return finding
    return dataclasses.replace(finding, op=f"stablehlo.{first.kind}", file=first.file, line=first.line)


def _about(ids: Sequence[int], collectives: Sequence[CollectiveOp], code: str, severity: str, text: str) -> Finding:
    return located(Finding(code, severity, text, ids=tuple(ids)), collectives)


def _ops(ids: Iterable[int]) -> str:
    return ", ".join(f"#{id}" for id in ids)
