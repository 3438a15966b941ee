"""Has XLA's partitioner go first, so that the transfers that it makes are ops that passes see."""

from __future__ import annotations

import collections
import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context
from hloverlap.passes.mlir import modules
from hloverlap.passes.mlir.locations import source_of
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.partition import asking, building, scope
from hloverlap.pipeline.partition.question import Partitioned, Question


@dataclasses.dataclass(frozen=True)
class Partition(Pass):
    """Turns a program of whole arrays into that of one device, as XLA itself would, and goes on from there.

    XLA divides the arrays and adds transfers before it does anything else. A child process has it do that much and
    brings the result back as StableHLO in one ``sdy.manual_computation``; XLA then has nothing left to divide. The
    partitioner is that of the target, of XLA:CPU where there is none. Modules that are per device already stay.
    """

    name = "partition"
    summary = "Has XLA's partitioner go first, so that passes see the transfers that it makes."
    example = """\
before: func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) …
          %y = call @roll(%x) …
after:    %y = sdy.manual_computation(%x) … manual_axes={"x"} (%part: tensor<2xf32>) {
            %sent = "stablehlo.collective_permute"(%last) …"""
    statistics: ClassVar[dict[str, str]] = {
        "num-partitioned": "modules that XLA's partitioner has divided",
        "num-added": "transfers that the partitioner has added",
    }
    remarks: ClassVar[dict[str, str]] = {
        "PAR001": "a transfer that the partitioner has added",
        "PAR002": "not partitioned first, and why",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Replaces the body of ``main``, or leaves a remark that says why not."""
        if scope.is_per_device(op):
            return
        if reason := scope.objection(op) or self._partition(op, context):
            context.remark("PAR002", f"Not partitioned first: {reason}.", modules.entry_function(op))

    def _partition(self, module: ir.Operation, context: Context) -> str:
        """Why it did not work, as a clause; "" if it did."""
        answer = asking.ask(_question(module, context))
        if not isinstance(answer, Partitioned):
            return f"the partitioner {answer.kind}: {answer.message}" if answer.message else answer.kind
        before = _transfers(module)
        try:
            building.put_in(module, answer)
        except building.UnbuildableError as error:
            return str(error)
        self.count(context, "num-partitioned")
        for (kind, file, line), (count, op) in _transfers(module).items():
            added = count - before.get((kind, file, line), (0, op))[0]
            if added > 0:
                self.count(context, "num-added", added)
                which = f"This {kind} is" if added == 1 else f"These {added} {kind}s are"
                context.remark("PAR001", f"{which} the partitioner's.", op)
        return ""


def _question(module: ir.Operation, context: Context) -> Question:
    main = modules.entry_function(module)
    assert main is not None
    target = context.target
    config = target.gpu_target_config if target is not None and target.is_gpu else None
    open_sides = (
        tuple(_is_open(attributes) for attributes in scope.attributes_of(main, name))
        for name in ("arg_attrs", "res_attrs")
    )
    return Question(
        modules.bytecode(module),
        "gpu" if target is not None and target.is_gpu else "cpu",
        config or "",
        modules.device_counts(module).devices,
        modules.uses_shardy(module),
        *open_sides,
    )


def _is_open(attributes: ir.DictAttr) -> bool:
    """Says whether XLA may choose: where nothing is said, or a dimension is left open."""
    return scope.SHARDING not in attributes or "?" in str(attributes[scope.SHARDING])


def _transfers(module: ir.Operation) -> dict[tuple[str, str, int], tuple[int, ir.Operation]]:
    """Kind, file and line of each transfer -> how many there are, and one of them."""
    found: dict[tuple[str, str, int], tuple[int, ir.Operation]] = collections.OrderedDict()
    for op in ops_in(module, *KINDS):
        key = (op.name.removeprefix("stablehlo."), *source_of(op.location))
        count, first = found.get(key, (0, op))
        found[key] = (count + 1, first)
    return found
