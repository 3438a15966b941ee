"""Does the work of hlo-opt, once its arguments are known."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import cast

from jaxlib.mlir import ir

from hloverlap.passes.context import Context
from hloverlap.passes.errors import HloverlapError, PassFailedError, PipelineError, TargetError
from hloverlap.passes.machine import targets
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir import diagnostics
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.execution import manager, resolution, running, text
from hloverlap.pipeline.formats import reading, table, writing
from hloverlap.pipeline.formats.errors import ReadError
from hloverlap.pipeline.formats.format import Source
from hloverlap.pipeline.messages import remarks
from hloverlap.tools.exit_status import ExitStatus
from hloverlap.tools.main import UsageError
from hloverlap.tools.opt import arguments, reproducers
from hloverlap.tools.opt.arguments import Arguments


class Optimizer:
    """One call of hlo-opt. Everything that can be wrong with the arguments is found before the input is read."""

    def __init__(self, given: Arguments) -> None:
        """Checks the arguments. Raises UsageError and PipelineError."""
        self.mlir = make_context(given.allow_unregistered_dialect)
        self.replayed: Source | None = None
        if given.run_reproducer:
            given, self.replayed = reproducers.load(given, self.mlir)
        self.given = given
        self.topology = _topology(given.topology)
        self.target = _target(given.target)
        if given.split_input_file and (given.emit or "mlir") != "mlir":
            raise UsageError("--split-input-file writes MLIR text: leave --emit out")
        self.steps = self._steps()
        self.total = Context()
        self.unchecked = False  # whether --check could not run a module
        self.told: list[tuple[Remark, str]] = []
        self.instrumentation = manager.Instrumentation(
            verify_each=given.verifies_each,
            print_ir_before_all=given.mlir_print_ir_before_all,
            print_ir_after_all=given.mlir_print_ir_after_all,
            print_ir_after_change=given.mlir_print_ir_after_change,
            timing=given.mlir_timing,
            debuginfo=given.mlir_print_debuginfo,
            elide_larger_than=given.mlir_elide_elementsattrs_if_larger,
        )

    def _steps(self) -> resolution.Nest:
        """Resolves what is to run. Raises UsageError, and PipelineError where a reproducer names what is not there."""
        for name, _ in self.given.passes:
            if not resolution.exists(name, self.mlir):
                raise arguments.unknown(name, resolution.pass_names())
        flags = ",".join(text.element(name, options) for name, options in self.given.passes)
        try:
            return resolution.resolve(self.given.pass_pipeline or f"{text.ROOT}({flags})", self.mlir)
        except PipelineError as error:
            if self.replayed is not None:
                raise
            raise UsageError(str(error)) from error

    def run(self) -> int:
        """Reads, rewrites, checks, writes; returns the exit status. Raises PipelineError, ReadError, WriteError."""
        if self.given.dump_pass_pipeline:
            print(f"Pass Manager with {len(self.steps.steps)} passes:\n{self.steps}", file=sys.stderr)
        if self.given.verify_diagnostics:
            return self._verify_diagnostics()
        if (command := self.given.reduce) is not None:
            return self._reduce(command)
        try:
            outputs = self._outputs()
        finally:
            self._log()
        if outputs is None:
            return ExitStatus.DIFFERENT
        self._report()
        writing.write_whole(b"// -----\n".join(outputs), self.given.output)
        return ExitStatus.NOT_CHECKED if self.unchecked else ExitStatus.FINE

    def _reduce(self, command: str) -> int:
        from hloverlap.tools.opt import reduce

        smaller = reduce.reduce(reading.read_path(self.given.input, self.mlir), command)
        writing.write_whole(smaller, self.given.output)
        return ExitStatus.FINE

    def _outputs(self) -> list[bytes] | None:
        """Gives the output for each module; None when --check finds a difference."""
        outputs = []
        for source in self._sources():
            output = self._rewrite(source)
            if output is None:
                return None
            outputs.append(output)
        return outputs

    def _log(self) -> None:
        """Writes what was told, as SARIF where that is wanted."""
        if self.given.remarks == "sarif":
            from hloverlap.pipeline.messages import sarif

            print(sarif.log("hlo-opt", self.told), file=sys.stderr)

    def _sources(self) -> Iterable[Source]:
        if self.replayed is not None:
            yield self.replayed
            return
        if not self.given.split_input_file:
            yield reading.read_path(self.given.input, self.mlir)
            return
        data, name = reading.load(self.given.input)
        for part in self._parts(data, name):
            yield reading.read(part.encode(), name, self.mlir)

    def _parts(self, data: bytes, name: str) -> list[str]:
        """Gives the input as text, in parts where it is to be split."""
        try:
            whole = data.decode()
        except UnicodeDecodeError:
            raise ReadError(
                f"{name}: --split-input-file and --verify-diagnostics work on text, and this is not"
            ) from None
        if not self.given.split_input_file:
            return [whole]
        from hloverlap.pipeline.formats import splitting

        return splitting.split(whole)

    def _rewrite(self, source: Source) -> bytes | None:
        """Gives the output for one module; None when --check finds that it computes something else."""
        before = bytecode(source.module) if self.given.check else b""
        try:
            result = self._run_passes(source.module, source.name)
        except PassFailedError as error:
            self._print_remarks(diagnostics.without_errors(error.remarks), source.name)
            reproducers.leave(self.given, self.steps, source, error)
            raise
        self._print_remarks(result.remarks, source.name)
        self._add(result)
        if before and self._is_different(before, source):
            return None
        emit = self.given.emit
        return writing.serialize(
            source,
            source.module,
            table.EMIT[emit] if emit else None,
            debuginfo=self.instrumentation.debuginfo,
            elide_larger_than=self.instrumentation.elide_larger_than,
        )

    def _run_passes(self, module: ir.Module, name: str) -> running.Result:
        return running.run_in_place(
            module,
            self.steps,
            topology=self.topology,
            target=self.target,
            instrumentation=self.instrumentation,
            name=name,
        )

    def _is_different(self, before: bytes, source: Source) -> bool:
        """Says what --check found. What this machine cannot run is not checked, which is no difference."""
        from hloverlap.pipeline.equivalence import checking

        way = cast("checking.Way", self.given.check)
        result = checking.check(before, source.module, topology=self.topology, way=way)
        if result.status == "not-run":
            self.unchecked = True
            print(f"{source.name}: warning: check: not checked, and written all the same: {result}", file=sys.stderr)
        else:
            print(f"{source.name}: check: {result}", file=sys.stderr)
        return result.status == "different"

    def _verify_diagnostics(self) -> int:
        """Checks every part against its own expectations."""
        from hloverlap.pipeline.execution import expectations

        data, name = reading.load(self.given.input)
        wrong = []
        for part in self._parts(data, name):
            try:
                expected = expectations.parse(part)
            except ValueError as error:
                raise UsageError(f"{name}: {error}") from None
            wrong += expectations.failures(expected, self._diagnostics(part, name), name)
        for line in wrong:
            print(line, file=sys.stderr)
        return ExitStatus.FAILED if wrong else ExitStatus.FINE

    def _diagnostics(self, part: str, name: str) -> list[Remark]:
        """Gives all that reading and running say about one part."""
        said: list[Remark] = []
        try:
            with diagnostics.collected(self.mlir, said):
                module = ir.Module.parse(part, self.mlir)
            said += self._run_passes(module, name).remarks
        except ir.MLIRError:
            pass
        except PassFailedError as error:
            said += error.remarks
            if all(each.severity != "error" for each in said):  # it was a pass of ours that found it
                said.append(Remark("", "error", str(error)))
        except HloverlapError as error:
            said.append(Remark("", "error", str(error)))
        return said

    def _print_remarks(self, found: Iterable[Remark], name: str) -> None:
        match self.given.remarks:
            case "sarif":
                self.told += [(remark, name) for remark in found]  # one log for all
                return
            case "text":
                lines = remarks.as_lines(found, name)
            case "all":
                lines = [remarks.as_text(remark, name) for remark in found]
            case "json":
                lines = [remarks.as_json(remark, name) for remark in found]
            case _:
                return
        for line in lines:
            print(line, file=sys.stderr)

    def _add(self, result: running.Result) -> None:
        for name, value in result.compile_options.items():
            self.total.need_option(name, value)
        for name, counts in result.statistics.items():
            for statistic, amount in counts.items():
                self.total.count(name, statistic, amount)

    def _report(self) -> None:
        if self.given.mlir_pass_statistics:
            passes = resolution.passes_of(self.steps)
            print(remarks.statistics_report(passes, self.total.statistics), file=sys.stderr)
        is_for_gpus = self.target is None or self.target.is_gpu  # all options that passes ask for are XLA:GPU's
        if is_for_gpus and (flags := remarks.xla_flags(self.total.compile_options)):
            print(f'XLA_FLAGS="{flags}"', file=sys.stderr)


def _topology(given: str | None) -> Topology | None:
    try:
        return None if given is None else Topology.parse(given)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _target(given: str | None) -> Target | None:
    try:
        return None if given is None else targets.find(given)
    except TargetError as error:
        raise UsageError(str(error)) from None
