"""What must hold for a module and a pipeline, told in sentences. Runs in a worker: nothing here needs jax."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping

from jaxlib.mlir import ir

from hloverlap.pipeline import interpreting, running, structure
from hloverlap.pipeline.dialects import make_context
from hloverlap.pipeline.entry import entry_function, NotRunnableError
from hloverlap.pipeline.writing import _text

# Statistics of things that a pass left alone.
_PASSIVE = frozenset({"num-declined", "num-left-to-combiner", "num-alone", "num-streams", "num-annotated"})

# Passes that send other data, or to others, so that the results are the same.
_RESENDING = ("compose-permutes", "hoist-permutes", "join-partial-permutes", "split-permutes-by-host")


@dataclasses.dataclass
class Findings:
    """problems: what does not hold, "" for nothing. images: pipeline -> digest of the output and all that was said."""

    problems: list[str] = dataclasses.field(default_factory=list)
    images: dict[str, str] = dataclasses.field(default_factory=dict)


def examine(text: str, pipelines: list[str], topology: str | None, runnable: bool, seed: int, deep: bool) -> Findings:
    """deep: everything; else only the images, which another process compares."""
    findings = Findings()
    context = make_context()
    module = ir.Module.parse(text, context)
    before = _Facts(module, runnable and deep, seed)
    for pipeline in pipelines:
        result = running.run(module, pipeline, topology=topology)
        findings.images[pipeline] = _image(result)
        if deep:
            findings.problems += [f"{pipeline}: {problem}" for problem in _problems(before, result, pipeline, topology)]
    if deep and running.bytecode(module) != before.image:
        findings.problems.append("the module given was changed itself")
    return findings


class _Facts:
    """What a module computes and promises."""

    def __init__(self, module: ir.Module, run: bool, seed: int) -> None:
        self.module, self.seed = module, seed
        self.image = running.bytecode(module)
        self.results = interpret(module, seed) if run else None
        self.contract = contract(module)


def _problems(before: _Facts, result: running.Result, pipeline: str, topology: str | None) -> list[str]:
    found = []
    module = result.module
    if not module.operation.verify():
        found.append("the result does not verify")
    again = ir.Module.parse(_text(module, True, None), module.context)
    if _text(again, True, None) != _text(module, True, None):
        found.append("the result is another when it is parsed again")
    second = running.run(module, pipeline, topology=topology)
    if second.changed:
        found.append("a second run changes something")
    if not result.changed and _active(result.statistics):
        found.append(f"it says that it did something and did not: {_active(result.statistics)}")
    if before.results is not None and interpret(module, before.seed) != before.results:
        found.append("the results are others")
    resends = any(name in pipeline for name in _RESENDING)
    if not resends and (difference := structure.first_difference(before.module, module)):
        found.append(f"on the wire, {difference}")
    after = contract(module)
    for name, promised in before.contract.items():
        if after[name] != promised:
            found.append(f"{name} was {promised} and is {after[name]}")
    return found


def interpret(module: ir.Module, seed: int) -> list[list[ir.Attribute]] | None:
    """The results of all processes; None where the module is not runnable after all."""
    program = interpreting.Interpreter(module)
    return program.run(interpreting.random_arguments(module, program.grid, "special", seed))


def contract(module: ir.Module) -> dict[str, object]:
    """What a pass may not change: main's signature and attributes, the order of effects, what others wrote."""
    main = entry_function(module)
    signature = {str(main.attributes[name]) for name in ("function_type", "arg_attrs") if name in main.attributes}
    ordered: list[str] = []
    foreign: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        for name in ("foreign.note",):
            if name in op.attributes:
                foreign.add(f"{op.name} {op.attributes[name]}")
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return {"the signature of main": sorted(signature), "attributes of others": sorted(foreign)}


def _active(statistics: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {
        name: count
        for counts in statistics.values()
        for name, count in counts.items()
        if count and name not in _PASSIVE
    }


def _image(result: running.Result) -> str:
    said = [_text(result.module, True, None), repr(result.remarks).encode(), repr(result.compile_options).encode()]
    return hashlib.sha256(b"\0".join([*said, running.bytecode(result.module)])).hexdigest()
