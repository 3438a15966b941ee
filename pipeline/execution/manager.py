"""Runs resolved steps with MLIR's PassManager, Python passes and MLIR's own side by side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.errors import PassError, PassFailedError
from hloverlap.passes.mlir import diagnostics
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.execution.resolution import ANY, MlirPass, Nest


@dataclass(frozen=True)
class Instrumentation:
    """Says what MLIR does around each pass: mlir-opt's flags of the same names. Reports go to stderr."""

    verify_each: bool = True
    print_ir_before_all: bool = False
    print_ir_after_all: bool = False
    print_ir_after_change: bool = False
    timing: bool = False
    debuginfo: bool = False
    elide_larger_than: int | None = None

    @property
    def prints_ir(self) -> bool:
        """Says whether any IR is printed between passes."""
        return self.print_ir_before_all or self.print_ir_after_all or self.print_ir_after_change


def run(
    nest: Nest,
    op: ir.Operation,
    context: Context,
    instrumentation: Instrumentation = Instrumentation(),
    name: str = "input",
) -> None:
    """Runs `nest` on `op` in place. What MLIR says joins the remarks of `context`, in its turn.

    name: what messages call the input. Raises PassFailedError with the first error; `op` is then half rewritten and
    must be dropped.
    """
    runner = _Runner(context, instrumentation)
    with diagnostics.collected(op.context, context.remarks), op.context, ir.Location.unknown():
        try:
            runner.run(nest, op)
        except ir.MLIRError:
            failure = runner.raised or _failure(context.remarks, name)
        else:
            context.remarks[:] = diagnostics.without_errors(context.remarks)  # a pass has caught them
            return
    if isinstance(failure, PassFailedError):
        failure.remarks = tuple(context.remarks)
    raise failure


def _failure(remarks: Iterable[Remark], name: str) -> PassFailedError:
    """Makes the error for a pass of MLIR's own that failed."""
    first = diagnostics.first_error(remarks)
    if first is None:
        return PassFailedError("a pass failed, and MLIR does not say which or why")
    return PassFailedError(f"{first.place(name)}: {first.headline}")


Work = Callable[[ir.Operation], None]


class _Runner:
    """One run. An exception must not pass through MLIR's C++ frames: it is kept in `raised` meanwhile."""

    def __init__(self, context: Context, instrumentation: Instrumentation) -> None:
        self.context = context
        self.instrumentation = instrumentation
        self.raised: BaseException | None = None
        self.schedulable: dict[str, bool] = {}

    def run(self, nest: Nest, op: ir.Operation) -> None:
        """Runs the steps. Raises ir.MLIRError when a pass fails."""
        manager = PassManager(op.name, op.context)
        self.fill(manager, nest)
        wanted = self.instrumentation
        manager.enable_verifier(wanted.verify_each)
        if wanted.prints_ir:
            manager.enable_ir_printing(
                print_before_all=wanted.print_ir_before_all,
                print_after_all=wanted.print_ir_after_all or wanted.print_ir_after_change,
                print_after_change=wanted.print_ir_after_change,
                large_elements_limit=wanted.elide_larger_than,
                enable_debug_info=wanted.debuginfo,
            )
        if wanted.timing:
            manager.enable_timing()
        manager.run(op)

    def fill(self, manager: PassManager, nest: Nest) -> None:
        """Adds the steps: runs of MLIR's own passes as text, the others as callables."""
        of_mlir: list[str] = []
        for step in nest.steps:
            if isinstance(step, MlirPass) or (isinstance(step, Nest) and step.only_mlir):
                of_mlir.append(str(step))
                continue
            manager.add(",".join(of_mlir))
            of_mlir.clear()
            if isinstance(step, Nest):
                self.add(manager, str(step), functools.partial(self.descend, step))
            else:
                self.add(manager, step.name, functools.partial(self.apply, step))
        manager.add(",".join(of_mlir))

    def add(self, manager: PassManager, name: str, work: Work) -> None:
        def guarded(op: ir.Operation, handle: Any) -> None:
            try:
                work(op)
            except BaseException as error:
                if self.raised is None and not isinstance(error, ir.MLIRError):
                    self.raised = error
                handle.signal_pass_failure()

        manager.add(guarded, name=name, argument=name)

    def apply(self, step: Pass, op: ir.Operation) -> None:
        """Runs one Python pass on one operation."""
        before = len(self.context.remarks)
        try:
            step.run(op, self.context)
            undeclared = {remark.code for remark in self.context.remarks[before:]} - step.remarks.keys()
            assert not (step.remarks and undeclared), f"it does not declare {sorted(undeclared)} among its remarks"
        except PassError as error:
            raise PassFailedError(f"{step.name}: {error}", pass_name=step.name) from error
        except ir.MLIRError as error:
            raise PassFailedError(f"{step.name} built invalid IR: {error.message}", pass_name=step.name) from error
        except Exception as error:
            said = str(error).strip().rpartition("\n")[2].strip()  # a callback's traceback comes before it
            raise PassFailedError(f"{step.name} raised {type(error).__name__}: {said}", pass_name=step.name) from error

    def descend(self, nest: Nest, op: ir.Operation) -> None:
        """Runs each operation below with a manager of its own: the bindings put no Python pass below an anchor."""
        below = [child for region in op.regions for block in region for child in block.operations]
        for child in below:
            if self.matches(nest.anchor, child.operation):
                # Timing nests by itself: this callable is one line of the outer report.
                inner = _Runner(self.context, replace(self.instrumentation, timing=False))
                try:
                    inner.run(nest, child.operation)
                finally:
                    self.raised = self.raised or inner.raised

    def matches(self, anchor: str, op: ir.Operation) -> bool:
        """Says whether passes under `anchor` run on `op`; for ``any``, MLIR knows whether it is isolated from above."""
        if anchor != ANY:
            return op.name == anchor
        if op.name not in self.schedulable:
            probe = PassManager(op.name, op.context)
            probe.add(lambda op, handle: None, name="probe")
            probe.enable_verifier(False)
            with diagnostics.collected(op.context, []):
                try:
                    probe.run(op)
                    self.schedulable[op.name] = True
                except ir.MLIRError:
                    self.schedulable[op.name] = False
        return self.schedulable[op.name]
