"""Gives what XLA made of a module: compiled or taken from the cache, and reduced to the facts an audit needs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hloverlap.pipeline.audit.launches import Launch, find_launches
from hloverlap.pipeline.audit.reasons import IN_TURN, with_reasons
from hloverlap.pipeline.prediction import schedule
from hloverlap.pipeline.prediction.schedule import Schedule
from hloverlap.pipeline.xla import answers
from hloverlap.pipeline.xla.hlo_text import parse_module
from hloverlap.pipeline.xla.isolated_compile import (
    TIME_LIMIT,
    Dump,
    Failure,
    Request,
    compile_module,
    workers,
)
from hloverlap.pipeline.xla.thunks import parse_thunks, schedule_as_thunks

_MEMORY = re.compile(r"Total bytes(?: used)?: (\d+)")


@dataclasses.dataclass(frozen=True)
class Program:
    """A compiled module."""

    launches: tuple[Launch, ...]
    """Its transfers in program order."""
    peak_memory: int | None
    """Bytes that a device needs, from XLA's memory report, arguments and results included; None where XLA wrote none.
    """
    schedule: Schedule = ()
    """What XLA will run, in order."""


Outcome: TypeAlias = Program | Failure


def outcomes(
    requests: Sequence[Request],
    time_limit: float = TIME_LIMIT,
    use_cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Gives what XLA makes of each request, in order; those not in the cache are compiled side by side, once each.

    progress: called with (compiled, to compile) at the start and after each compile.
    """
    sources = answers.fingerprint() if use_cache else ""
    names = [_key(request, sources) for request in requests]
    found: dict[str, Outcome] = {}
    for name in dict.fromkeys(names):
        stored = _load(answers.read(name)) if use_cache else None
        if stored is not None:
            found[name] = stored
    missing = {name: request for name, request in zip(names, requests, strict=True) if name not in found}
    report = progress if progress and missing else lambda done, total: None
    report(0, len(missing))

    def solve(item: tuple[str, Request]) -> tuple[str, Outcome]:
        name, request = item
        outcome = _outcome(request, time_limit)
        if use_cache and (isinstance(outcome, Program) or outcome.is_xlas):
            answers.write(name, _store(outcome))
        return name, outcome

    if missing:
        from concurrent.futures import ThreadPoolExecutor  # an answer from the cache does without

        from hloverlap.pipeline.children import child

        with ThreadPoolExecutor(max_workers=workers()) as pool:
            try:
                for done, (name, outcome) in enumerate(pool.map(solve, missing.items()), 1):
                    found[name] = outcome
                    report(done, len(missing))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                child.stop_all()
                raise
    return [found[name] for name in names]


def analyze(dump: Dump, options: Sequence[tuple[str, object]] = ()) -> Program:
    """Reads one compile's dump. options: what XLA was told, for the reasons."""
    module = parse_module(dump.hlo)
    told = dict(options)
    if dump.thunk_sequence:
        thunks = parse_thunks(dump.thunk_sequence, dump.thunk_metadata)
        launches = with_reasons(find_launches(thunks, module), module, told)
    else:
        thunks = schedule_as_thunks(module)
        launches = find_launches(thunks, module)
        launches = [dataclasses.replace(launch, lost=IN_TURN) for launch in launches]
    memory = _MEMORY.search(dump.memory)
    return Program(
        launches=tuple(launches),
        peak_memory=int(memory[1]) if memory else None,
        schedule=schedule.read(thunks, module, dump.hlo, told),
    )


def _outcome(request: Request, time_limit: float) -> Outcome:
    dump = compile_module(request, time_limit)
    return dump if isinstance(dump, Failure) else analyze(dump, request.options)


def _key(request: Request, sources: str) -> str:
    described = dataclasses.replace(request, module=b"")
    return answers.key([request.module, repr(described), sources])


def _store(outcome: Outcome) -> dict[str, Any]:
    kind = "failure" if isinstance(outcome, Failure) else "program"
    return {kind: dataclasses.asdict(outcome)}


def _load(stored: dict[str, Any] | None) -> Outcome | None:
    """Gives the outcome of a cache entry; None when it is not one."""
    try:
        if stored and "failure" in stored:
            return Failure(**stored["failure"])
        if stored and "program" in stored:
            launches = tuple(Launch(**_tuples(each)) for each in stored["program"]["launches"])
            return Program(launches, stored["program"]["peak_memory"], schedule.load(stored["program"]["schedule"]))
    except (TypeError, KeyError, AttributeError):
        return None
    return None


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
