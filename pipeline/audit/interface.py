"""Makes the audit one call: ``hloverlap.audit``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.pipeline.audit import audits
from hloverlap.pipeline.audit.audits import Audit, Comparison, Progress, Setting, Subject
from hloverlap.pipeline.execution.resolution import Pipeline
from hloverlap.pipeline.formats import programs
from hloverlap.pipeline.formats.programs import Program
from hloverlap.pipeline.xla.isolated_compile import TIME_LIMIT


@overload
def audit(
    program: Program,
    pipeline: None = None,
    *,
    topology: Topology | str | None = None,
    target: Target | str = "h200",
    verify_each: bool = True,
    compiler_options: Mapping[str, CompileOption] | None = None,
    time_limit: float = TIME_LIMIT,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Audit: ...


@overload
def audit(
    program: Program,
    pipeline: Pipeline,
    *,
    topology: Topology | str | None = None,
    target: Target | str = "h200",
    verify_each: bool = True,
    compiler_options: Mapping[str, CompileOption] | None = None,
    time_limit: float = TIME_LIMIT,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Comparison: ...


def audit(
    program: Program,
    pipeline: Pipeline | None = None,
    *,
    topology: Topology | str | None = None,
    target: Target | str = "h200",
    verify_each: bool = True,
    compiler_options: Mapping[str, CompileOption] | None = None,
    time_limit: float = TIME_LIMIT,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Audit | Comparison:
    """Compiles `program` for a machine that need not be there, and says what XLA makes of each collective.

    program, pipeline, topology, verify_each: as for `run`. With a pipeline, what it makes of the program is compiled
        too, with the XLA options that it asks for, and the two are compared. The topology is one host by default.
    target: what to compile for: what ``hlo-audit --target`` takes.
    compiler_options: XLA options, as for `compile`; those of the environment do not count.
    time_limit: seconds for one compile. use_cache: whether answers are taken from the disk and kept there.
    progress: is told how many of how many compiles are done.

    Neither the program nor this process is changed: XLA runs in children, and if it aborts, that is a finding.
    Raises what `run` raises, OptionError (XLA does not take an option or the target) and UnavailableError (there is no
    compiler for the target here).
    """
    module, name = programs.module_of(program)
    if isinstance(target, str):
        target = audits.find_target(target)
    if isinstance(topology, str):
        topology = Topology.parse(topology)
    setting = Setting(target, topology, time_limit, use_cache, progress)
    subject = Subject(module, name, dict(compiler_options or {}))
    if pipeline is None:
        return audits.audit_one(subject, setting)
    return audits.compare(subject, audits.rewritten(subject, pipeline, setting, verify_each), setting)
