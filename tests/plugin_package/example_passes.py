"""A package that brings passes, as its users would install it: this folder is what pip leaves in site-packages."""

from __future__ import annotations

import dataclasses
import typing

from jaxlib.mlir import ir

from hloverlap.passes.base import Pass, option
from hloverlap.passes.errors import PassError


def _name(function):
    return ir.StringAttr(function.attributes["sym_name"]).value


@dataclasses.dataclass(frozen=True)
class Note(Pass):
    """Leaves a remark at every function, and a mark on it."""

    name = "note"
    summary = "Notes every function."
    example = "func.func @f() -> func.func @f() attributes {noted}"
    statistics: typing.ClassVar = {"num-noted": "functions noted"}
    word: str = option("seen", "what to say")
    times: int = option(1, "how often")
    mark: bool = option(False, "whether to mark the function")
    mood: typing.Literal["good", "bad"] = option("good", "how it is said")

    def __post_init__(self):
        if self.times < 1:
            raise ValueError("times must be at least 1")

    def run(self, op, context):
        for function in op.regions[0].blocks[0].operations:
            for _ in range(self.times):
                context.remark("NOTE1", f"{self.word} {_name(function)}", function.operation)
            self.count(context, "num-noted")
            if self.mark:
                function.operation.attributes["noted"] = ir.UnitAttr.get()
        context.need_option("xla_gpu_noted", self.times)


class NoteFunction(Pass):
    """Runs below an anchor."""

    name = "note-function"
    summary = "Notes one function."
    anchor = "func.func"

    def run(self, op, context):
        ops = len(list(op.regions[0].blocks[0].operations))
        context.remark("NOTE2", f"{_name(op)} has {ops} ops", op)


class NoteAny(NoteFunction):
    """Runs on any operation."""

    name = "note-any"
    anchor = "any"

    def run(self, op, context):
        context.remark("NOTE3", f"on {op.name}", op)


class Refuse(Pass):
    name = "refuse"
    summary = "Cannot do it."

    def run(self, op, context):
        raise PassError("the module has no music in it")


class Stumble(Pass):
    name = "stumble"
    summary = "Has a bug."

    def run(self, op, context):
        return {}["no such key"]


class Break(Pass):
    name = "break"
    summary = "Leaves IR that does not verify."

    def run(self, op, context):
        function = op.regions[0].blocks[0].operations[0]
        function.operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))


class Complain(Pass):
    name = "complain"
    summary = "Leaves a remark that is an error."

    def run(self, op, context):
        context.remark("NOTE4", "this is wrong", op, severity="error")


class Detune(Pass):
    name = "detune"
    summary = "Is wrong: it makes every sum of two values twice the second."

    def run(self, op, context):
        for function in op.regions[0].blocks[0].operations:
            for inner in function.regions[0].blocks[0].operations:
                if inner.operation.name == "stablehlo.add":
                    inner.operation.operands[0] = inner.operation.operands[1]


NOT_A_PASS = 3
