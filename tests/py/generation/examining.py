"""What must hold for a module and a pipeline, told in sentences. Runs in a worker: nothing here needs jax."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from unittest import mock

from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline.equivalence import structure
from hloverlap.pipeline.equivalence.entry import entry_function
from hloverlap.pipeline.equivalence.interpreter.interpreter import Interpreter, random_arguments
from hloverlap.pipeline.execution import running
from hloverlap.pipeline.formats.format import Style
from hloverlap.pipeline.formats.mlir_text import print_text
from support.machines import EAGER

# Statistics of things that a pass left alone.
_PASSIVE = frozenset(
    {"num-declined", "num-left-to-combiner", "num-alone", "num-streams", "num-annotated", "num-errors", "num-warnings"}
)

# Passes that send other data: the same results with fewer or smaller transfers.
_SENDS_OTHERWISE = ("compose-", "hoist-", "join-", "split-", "lower-")

_WHOLE = Style(debuginfo=True)


@dataclasses.dataclass
class Findings:
    """problems: what does not hold, "" for nothing. images: pipeline -> digest of the output and all that was said."""

    problems: list[str] = dataclasses.field(default_factory=list)
    images: dict[str, str] = dataclasses.field(default_factory=dict)


def examine(
    text: str,
    pipelines: Sequence[str],
    mixed: Sequence[str],
    topology: str | None,
    runnable: bool,
    seed: int,
    deep: bool,
) -> Findings:
    """Runs each pipeline on the module.

    mixed: pipelines of which a second run may change something. topology: as text. runnable: whether it can be
    interpreted, on inputs that `seed` names. deep: everything; else only the images, which another process compares.
    """
    findings = Findings()
    context = make_context()
    module = ir.Module.parse(text, context)
    before = _Facts(module, runnable and deep, seed)
    known = {before.image: list[str]()}  # several pipelines make the same of a module
    for pipeline in (*pipelines, *mixed):
        result = run(module, pipeline, topology)
        findings.images[pipeline] = _image(result)
        if deep:
            image = bytecode(result.module)
            if image not in known:
                known[image] = _problems(before, result)
            found = list(known[image])
            if image == before.image and (active := _active(result.statistics)):
                found.append(f"it says that it did something and did not: {active}")
            if image != before.image and pipeline not in mixed:
                found += _problems_of_one(before, result, pipeline, topology)
            findings.problems += [f"{pipeline}: {problem}" for problem in found]
    if deep and bytecode(module) != before.image:
        findings.problems.append("the module given was changed itself")
    return findings


def run(module: ir.Module, pipeline: str, topology: str | None) -> running.Result:
    """`running.run`, but what a pass finds wrong with the module is no failure here."""
    with mock.patch.object(running, "_raise_errors"):
        return running.run(module, pipeline, topology=topology, target=EAGER)


class _Facts:
    """What a module computes and promises."""

    def __init__(self, module: ir.Module, run: bool, seed: int) -> None:
        self.module, self.seed = module, seed
        self.image = bytecode(module)
        self.results = interpret(module, seed) if run else None
        self.signature = signature(module)
        self.notes = notes(module)


def _problems(before: _Facts, result: running.Result) -> list[str]:
    """What every pipeline must keep."""
    found = []
    module = result.module
    if not module.operation.verify():
        found.append("the result does not verify")
    again = ir.Module.parse(print_text(module, _WHOLE), module.context)
    if print_text(again, _WHOLE) != print_text(module, _WHOLE):
        found.append("the result is another when it is parsed again")
    if before.results is not None and interpret(module, before.seed) != before.results:
        found.append("the results are others")
    if signature(module) != before.signature:
        found.append("main has another signature")
    return found


def _problems_of_one(before: _Facts, result: running.Result, pipeline: str, topology: str | None) -> list[str]:
    """What one of our own passes must keep, too."""
    found = []
    if (left := notes(result.module)) != before.notes:
        found.append(f"of the attributes of others {sorted(before.notes)}, {sorted(left)} are left")
    if not any(word in pipeline for word in _SENDS_OTHERWISE):
        difference = structure.first_difference(before.module, result.module)
        found += [f"on the wire, {difference}"] if difference else []
    if run(result.module, pipeline, topology).changed:
        found.append("a second run changes something")
    return found


def interpret(module: ir.Module, seed: int) -> list[list[ir.Attribute]] | None:
    """The results of all processes; None where the module is not runnable after all."""
    program = Interpreter(module)
    return program.run(random_arguments(module, program.grid, "special", seed))


def signature(module: ir.Module) -> list[str]:
    """Types, donation, sharding and all else that main's caller relies on."""
    main = entry_function(module)
    names = ("function_type", "arg_attrs", "res_attrs")
    return [str(main.attributes[name]) for name in names if name in main.attributes]


def notes(module: ir.Module) -> set[str]:
    """The attributes that the generator puts on permutes in the name of others."""
    noted = (op for op in ops_in(module.operation) if "foreign.note" in op.attributes)
    return {f"{op.name} {op.attributes['foreign.note']}" for op in noted}


def _active(statistics: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {
        name: count
        for counts in statistics.values()
        for name, count in counts.items()
        if count and name not in _PASSIVE
    }


def _image(result: running.Result) -> str:
    said = [print_text(result.module, _WHOLE), repr(result.remarks).encode(), repr(result.compile_options).encode()]
    return hashlib.sha256(b"\0".join([*said, bytecode(result.module)])).hexdigest()
