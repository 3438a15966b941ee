"""Runs a pipeline over one module, from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxlib.mlir import ir

from hloverlap.passes.context import Context
from hloverlap.passes.errors import PassError, PassFailedError, TopologyError
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.capabilities import capabilities
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.machine.xla_options import CompileOption
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode, copy_of, device_counts
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.execution import manager, resolution
from hloverlap.pipeline.execution.manager import Instrumentation
from hloverlap.pipeline.formats import programs
from hloverlap.pipeline.formats.programs import Program
from hloverlap.pipeline.messages import remarks


@dataclass(frozen=True)
class Result:
    """Says what a run made."""

    module: ir.Module
    """The rewritten module, in the context of the module given or in one of its own."""
    remarks: tuple[Remark, ...]
    """What the passes did and declined, and what MLIR had to say, in order."""
    statistics: Mapping[str, Mapping[str, int]]
    """Pass -> statistic -> count."""
    compile_options: Mapping[str, CompileOption]
    """The XLA options without which the rewrite has no effect."""
    changed: bool
    """Whether the module differs from the input, locations included."""

    @property
    def xla_flags(self) -> str:
        """Writes `compile_options` as the value of XLA_FLAGS; "" when nothing is needed."""
        return remarks.xla_flags(self.compile_options)


def run(
    program: Program,
    pipeline: resolution.Pipeline = "overlap",
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    verify_each: bool = True,
) -> Result:
    """Runs `pipeline` on a copy of `program`.

    program: a module, which is not changed; the text, the bytes or the path of one, in any format that hlo-opt reads;
        or what jax lowered or exported.
    pipeline: text such as ``"canonicalize-permutes,cse"`` or ``"builtin.module(...)"``; or a pass; or passes in order;
        or what `resolution.resolve` made of one of these.
    topology: a Topology, or text as for ``Topology.parse``.
    target: the machine that the result will run on: a Target, or what ``--target`` takes, the name of one that is known
        or the path of a file. Where it is not given, what rests on what transfers cost is not done.
    verify_each: whether MLIR verifies the module after each pass.

    Raises PipelineError (ill-formed pipeline, failed pass), ReadError (program cannot be read), TopologyError (it
    cannot be read, or is of another size than the module), TargetError, TypeError (no program).
    """
    module, name = programs.module_of(program)
    instrumentation = Instrumentation(verify_each=verify_each)
    return run_in_place(module, pipeline, topology=topology, target=target, instrumentation=instrumentation, name=name)


def run_in_place(
    module: ir.Module,
    pipeline: resolution.Pipeline,
    *,
    topology: Topology | str | None = None,
    target: Target | str | None = None,
    instrumentation: Instrumentation | None = None,
    name: str = "<module>",
) -> Result:
    """Runs on a module that is the caller's to give away: hlo-opt, `run`, `compile` and `jit` all end here.

    instrumentation: what MLIR does around each pass; by default it verifies and no more. name: what messages call the
    module. Raises PipelineError, TopologyError, TargetError.
    """
    steps = resolution.resolve(pipeline, module.context)
    context = _pass_context(module, topology, target)
    before = bytecode(module)
    manager.run(steps, module.operation, context, instrumentation or Instrumentation(), name)
    _raise_errors(context, name)
    return Result(
        module=module,
        remarks=tuple(context.remarks),
        statistics=context.statistics,
        compile_options=context.compile_options,
        changed=bytecode(module) != before,
    )


def _pass_context(module: ir.Module, topology: Topology | str | None, target: Target | str | None = None) -> Context:
    """Gathers what the passes are told. Raises TopologyError, TargetError."""
    if isinstance(topology, str):
        topology = Topology.parse(topology)
    if topology is not None and (size := device_counts(module).topology_size) not in (None, topology.size):
        if size == 1:
            raise TopologyError(
                f"the topology gives the hosts of {topology.size} devices, but the module runs on one device, so "
                f"nothing in it goes between hosts: leave the topology out, or lower the program for {topology.size} "
                "devices"
            )
        raise TopologyError(
            f"the topology has {topology.size} partitions but the module is for {size}; give that of its own devices, "
            f"such as 1x{size} for one host, or the host of each, such as [0,0,1,1]"
        )
    if isinstance(target, str):
        target = targets.find(target)
    return Context(topology=topology, target=target, capabilities=capabilities())


def _raise_errors(context: Context, name: str) -> None:
    """Raises PassFailedError with the first remark that is an error, which is a pass's way to refuse a module."""
    for remark in context.errors():
        raise PassFailedError(remarks.as_text(remark, name), remarks=context.remarks) from PassError(remark.message)


def in_own_context(module: ir.Module) -> ir.Module:
    """Copies a module of jax into a context of its own.

    jax's contexts run passes on threads, which Python passes do not survive.
    """
    return copy_of(module, make_context(load_all=False))
