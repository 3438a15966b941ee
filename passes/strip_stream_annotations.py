"""Takes out the stream annotations that assign-collective-streams put in."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.base import Pass
from hloverlap.passes.context import Context


@dataclasses.dataclass(frozen=True)
class StripStreamAnnotations(Pass):
    """Takes out our own annotations alone: the user's, and every other frontend attribute, stay."""

    name = "strip-stream-annotations"
    summary = "Removes the stream annotations that assign-collective-streams added, and no others."
    example = """\
before: "stablehlo.collective_permute"(%x) … {mhlo.frontend_attributes =
            {_xla_stream_annotation = "4", combiner_key = "hloverlap.0", theirs = "kept"}}
after:  "stablehlo.collective_permute"(%x) … {mhlo.frontend_attributes = {theirs = "kept"}}"""
    statistics: ClassVar[dict[str, str]] = {"num-stripped": "annotations removed"}
    remarks: ClassVar[dict[str, str]] = {
        "SSA001": "removed a stream annotation that assign-collective-streams had added",
    }

    def run(self, op: ir.Operation, context: Context) -> None:
        """Strips every op of the module that carries an annotation of ours."""
        for collective in stream_annotations.own_ops(op):
            stream_annotations.strip(collective)
            self.count(context, "num-stripped")
            context.remark("SSA001", "Removed the stream annotation that assign-collective-streams added.", collective)
