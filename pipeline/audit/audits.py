"""Audits one module or two: what is compiled, and what comes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from jaxlib.mlir import ir

from hloverlap.passes.errors import OptionError, TargetError, UnavailableError
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import COMBINE_THRESHOLD, COMBINE_THRESHOLD_DEFAULT, CompileOption
from hloverlap.passes.mlir.elision import describe_elided
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.pipeline.audit import compiled, findings, hints, op_ids, verdict
from hloverlap.pipeline.audit.compiled import Outcome
from hloverlap.pipeline.audit.findings import Finding
from hloverlap.pipeline.audit.op_ids import CollectiveOp, Tagged
from hloverlap.pipeline.audit.topology import xla_topology
from hloverlap.pipeline.audit.verdict import Totals, Verdict
from hloverlap.pipeline.execution import resolution, running
from hloverlap.pipeline.execution.resolution import Pipeline
from hloverlap.pipeline.formats.errors import ReadError
from hloverlap.pipeline.prediction.prediction import Prediction, predict
from hloverlap.pipeline.xla.isolated_compile import TIME_LIMIT, Failure, Request

Progress = Callable[[int, int], None]

LOCAL = Target(targets.LOCAL, backend="gpu", gpu_target_config="")
"""The GPU that is there: XLA asks it when it compiles."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """Says what to compile for, and how."""

    target: Target
    topology: Topology | None = None
    """None for one host."""
    time_limit: float = TIME_LIMIT
    """In seconds, for one compile."""
    use_cache: bool = True
    """Whether answers are taken from the disk and kept there; never for the GPU that happens to be here."""
    progress: Progress | None = None
    """Called with how many of how many compiles are done."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """Names a module to audit. It is not changed."""

    module: ir.Module
    name: str
    """Of its file, to which lines of its own text refer."""
    options: Mapping[str, CompileOption] = dataclasses.field(default_factory=dict)
    """The XLA options that it is compiled with."""
    label: str = ""
    """What was done to it since, such as ``after canonicalize``."""


@dataclasses.dataclass(frozen=True)
class Audit:
    """Says what XLA does with one module."""

    name: str
    """The subject's."""
    label: str
    """The subject's."""
    collectives: tuple[CollectiveOp, ...]
    """In program order."""
    outcome: Outcome
    """The launches of the program, or why there is none."""
    options: Mapping[str, CompileOption]
    """The XLA options that it was compiled with."""
    topology: str
    """What it was compiled for, in XLA's text."""
    findings: tuple[Finding, ...]
    """What became of the collectives: failures first, then launch by launch, then what XLA removed."""
    hints: tuple[Finding, ...]
    """What might be done about it, in the order of their codes."""
    totals: Totals
    prediction: Prediction | None = None
    """How long the program takes there, and where the time goes; None where there is no program."""


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Says what two audits found, and how the second compares with the first."""

    before: Audit
    after: Audit
    verdict: Verdict


@dataclasses.dataclass(frozen=True)
class Trial:
    """A module compiled once more with the options of a hint, or of all hints together."""

    hint: str
    options: Mapping[str, CompileOption]
    totals: Totals
    failure: Failure | None


def find_target(text: str) -> Target:
    """Gives the target to compile for: `LOCAL`, or one that `targets.find` knows. Raises TargetError."""
    return LOCAL if text == targets.LOCAL else targets.find(text)


def audit_one(subject: Subject, setting: Setting) -> Audit:
    """Audits one module. Raises what `audit_all` raises."""
    return audit_all([subject], setting)[0]


def compare(before: Subject, after: Subject, setting: Setting) -> Comparison:
    """Audits two modules, compiled side by side. Raises what `audit_all` raises."""
    first, second = audit_all([before, after], setting)
    # Who compares has a pass at work already, and need not be told that there is one.
    second = dataclasses.replace(second, hints=tuple(hint for hint in second.hints if hint.code != hints.USE_OVERLAP))
    found = verdict.judge(first.prediction, second.prediction, _pass_target(setting.target).costs.spread)
    found = dataclasses.replace(found, warning=verdict.memory_warning(first.totals, second.totals))
    return Comparison(first, second, found)


def rewritten(subject: Subject, pipeline: Pipeline, setting: Setting, verify_each: bool = True) -> Subject:
    """Gives what `pipeline` makes of a subject for the target, with the XLA options that it asks for.

    The subject's own options hold. Raises what `run` raises.
    """
    target = _pass_target(setting.target)
    topology = setting.topology or _one_process(subject)
    result = running.run(subject.module, pipeline, topology=topology, target=target, verify_each=verify_each)
    options = {**result.compile_options, **subject.options}
    return Subject(result.module, subject.name, options, f"after {resolution.spelled(pipeline)}")


def audit_all(subjects: Sequence[Subject], setting: Setting) -> list[Audit]:
    """Audits modules side by side; results in their order.

    Raises TopologyError, TargetError (it says nothing of a compiler), OptionError (XLA does not take an option or the
    target), ReadError (a constant was elided), UnavailableError.
    """
    for subject in subjects:
        if elided := describe_elided(subject.module.operation):
            raise ReadError(f"{subject.name}: {elided}")
    tagged = [op_ids.tag(subject.module, _combine_limit(subject.options)) for subject in subjects]
    requests = [_request(each, subject, setting) for each, subject in zip(tagged, subjects, strict=True)]
    outcomes = _outcomes(requests, setting)
    for outcome in outcomes:
        if isinstance(outcome, Failure) and outcome.kind == "unavailable":
            raise UnavailableError(outcome.message)
        if isinstance(outcome, Failure) and outcome.kind == "failed":
            raise UnavailableError(f"the process that compiles failed: {outcome.message}")
        if isinstance(outcome, Failure) and outcome.kind == "request":
            raise OptionError(f"XLA does not take an option or the target: {outcome.message}")
    predictions = [_predicted(outcome, each, setting) for outcome, each in zip(outcomes, tagged, strict=True)]
    return [
        Audit(
            name=subject.name,
            label=subject.label,
            collectives=each.collectives,
            outcome=outcome,
            options=dict(request.options),
            topology=request.topology,
            findings=tuple(findings.find(outcome, each.collectives, each.foreseen)),
            hints=_hints(outcome, each, request) if setting.target.is_gpu else (),
            totals=verdict.totals(outcome, prediction),
            prediction=prediction,
        )
        for subject, each, request, outcome, prediction in zip(
            subjects, tagged, requests, outcomes, predictions, strict=True
        )
    ]


def try_hints(subject: Subject, found: Audit, setting: Setting) -> list[Trial]:
    """Compiles `subject` with the options of each hint that has some, and with all of them when there are several."""
    attempts = [(hint.code, dict(hint.options)) for hint in found.hints if hint.options]
    if len(attempts) > 1:
        together: dict[str, CompileOption] = {}
        for _, options in attempts:
            together |= options
        attempts.append(("all", together))
    tagged = op_ids.tag(subject.module)
    requests = [
        _request(tagged, dataclasses.replace(subject, options={**subject.options, **options}), setting)
        for _, options in attempts
    ]
    outcomes = _outcomes(requests, setting)
    return [
        Trial(
            code,
            options,
            verdict.totals(outcome, _predicted(outcome, tagged, setting)),
            outcome if isinstance(outcome, Failure) else None,
        )
        for (code, options), outcome in zip(attempts, outcomes, strict=True)
    ]


def _one_process(subject: Subject) -> Topology | None:
    """Gives what XLA is told where nobody said a topology; None for a module that does not say for how many it is."""
    size = device_counts(subject.module).topology_size
    return Topology.regular(1, 1, size) if size is not None else None


def _hints(outcome: Outcome, tagged: Tagged, request: Request) -> tuple[Finding, ...]:
    one_process = request.topology.startswith("1x1x")
    return tuple(hints.suggest(outcome, tagged, dict(request.options), one_process))


def _outcomes(requests: Sequence[Request], setting: Setting) -> list[Outcome]:
    use_cache = setting.use_cache and setting.target is not LOCAL
    return compiled.outcomes(requests, setting.time_limit, use_cache, setting.progress)


def _predicted(outcome: Outcome, tagged: Tagged, setting: Setting) -> Prediction | None:
    if isinstance(outcome, Failure):
        return None
    topology = setting.topology or Topology.regular(1, 1, tagged.replicas * tagged.partitions)
    return predict(outcome.schedule, _pass_target(setting.target).costs, topology)


def _combine_limit(options: Mapping[str, CompileOption]) -> int:
    """Counts the bytes of permutes that XLA's combiner joins at most."""
    limit = options.get(COMBINE_THRESHOLD)
    return limit if isinstance(limit, int) else COMBINE_THRESHOLD_DEFAULT


def _request(tagged: Tagged, subject: Subject, setting: Setting) -> Request:
    return Request(
        module=tagged.image,
        backend="gpu" if setting.target.is_gpu else "cpu",
        target_config=_target_config(setting.target),
        topology=xla_topology(setting.topology, tagged.replicas * tagged.partitions),
        replicas=tagged.replicas,
        partitions=tagged.partitions,
        shardy=tagged.shardy,
        options=tuple(sorted(subject.options.items())),
    )


def _pass_target(target: Target) -> Target:
    """Gives what passes are told: of the GPU that is there, what is known of one that JAX calls so."""
    if target is not LOCAL:
        return target
    import jax

    device = jax.devices()[0]
    return targets.of_device(device.platform, device.device_kind)


def _target_config(target: Target) -> str:
    if target.backend == "cpu":
        return ""
    if not target.is_gpu or target.gpu_target_config is None:
        raise TargetError(
            f"target '{target.name}' says nothing of a compiler: give it a base, such as h200, or a [compiler] with "
            "backend and gpu_target_config"
        )
    return target.gpu_target_config
