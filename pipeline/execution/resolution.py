"""Makes passes of pipeline text: names looked up, options read, every mistake shown at its character."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.passmanager import PassManager

from hloverlap.passes import registry
from hloverlap.passes.base import Pass
from hloverlap.passes.errors import PipelineError, PipelineTextError, did_you_mean
from hloverlap.pipeline.execution import text
from hloverlap.pipeline.execution.mlir_passes import KNOWN

ANY = "any"
_ANCHORS = ("builtin.module", "func.func", "sdy.named_computation", ANY)


@dataclass(frozen=True)
class MlirPass:
    """A pass, or a registered pipeline, of MLIR's own, as text."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Nest:
    """Steps that run in order on each `anchor` operation directly below."""

    anchor: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.steps))})"

    @property
    def only_mlir(self) -> bool:
        """Says whether MLIR can run the whole without Python."""
        return all(step.only_mlir if isinstance(step, Nest) else isinstance(step, MlirPass) for step in self.steps)


Step = Pass | MlirPass | Nest
Pipeline = str | Pass | Iterable[Pass] | Nest


def resolve(pipeline: Pipeline, context: ir.Context) -> Nest:
    """Finds the steps of `pipeline` (text, one pass, or passes in order) on a module. Raises PipelineError."""
    if isinstance(pipeline, Nest):
        return pipeline
    if isinstance(pipeline, Pass):
        pipeline = [pipeline]
    if not isinstance(pipeline, str):
        steps = tuple(pipeline)
        if foreign := [step for step in steps if not isinstance(step, Pass)]:
            raise PipelineError(f"{foreign[0]!r} is no pass: give pipeline text or instances of hloverlap passes")
        if misplaced := [step for step in steps if step.anchor not in (text.ROOT, ANY)]:
            step = misplaced[0]
            raise PipelineError(f"'{step.name}' runs on {step.anchor}: give text such as '{step.anchor}({step})'")
        return Nest(text.ROOT, steps)
    return _Resolver(pipeline, context).nest(text.parse(pipeline))


def spelled(pipeline: Pipeline) -> str:
    """Writes the pipeline as text. What is an iterator is used up."""
    if isinstance(pipeline, (str, Pass, Nest)):
        return str(pipeline)
    return ",".join(map(str, pipeline))


def exists(name: str, context: ir.Context) -> bool:
    """Says whether a pass or pipeline of this name can stand in a pipeline, as a broken package's pass can."""
    return (
        name in registry.BUILTIN
        or name in registry.STEPS
        or name in registry.PIPELINES
        or name in KNOWN
        or name in registry.names()
        or _mlir_refusal(name, context) is None
    )


def pass_names() -> list[str]:
    """Lists every name worth suggesting."""
    return [*registry.names(), *registry.PIPELINES, *KNOWN]


def passes_of(nest: Nest) -> Iterator[Pass]:
    """Gives the Python passes in a nest, in the order of the text."""
    for step in nest.steps:
        if isinstance(step, Nest):
            yield from passes_of(step)
        elif isinstance(step, Pass):
            yield step


class _Resolver:
    def __init__(self, source: str, context: ir.Context) -> None:
        self.source = source
        self.context = context

    def nest(self, node: text.AnchorNode) -> Nest:
        """Resolves an anchor and all below it."""
        known = node.name == ANY or self.context.is_registered_operation(node.name)
        if not known and not self.context.allow_unregistered_dialects:
            hint = did_you_mean(node.name, _ANCHORS)
            raise self.error(f"there is no operation '{node.name}' to run passes on{hint}", node.position)
        steps: list[Step] = []
        for child in node.children:
            if isinstance(child, text.AnchorNode):
                steps.append(self.nest(child))
            else:
                steps.extend(self.passes(child, node.name))
        return Nest(node.name, tuple(steps))

    def passes(self, node: text.PassNode, anchor: str) -> Iterator[Step]:
        """Gives what one name stands for: a pass, or the passes of a named pipeline."""
        if node.name in registry.PIPELINES:
            if node.options:
                raise self.error(f"pipeline '{node.name}' takes no options", node.options[0].position)
            for child in text.parse(registry.PIPELINES[node.name]).children:
                assert isinstance(child, text.PassNode)
                yield self.python(self.find(child.name, node.position), child, anchor, node.position)
        elif node.name not in KNOWN and (found := self.find(node.name, node.position)) is not None:
            yield self.python(found, node, anchor, node.position)
        else:
            yield self.mlir(node)

    def find(self, name: str, position: int) -> type[Pass] | None:
        """Finds the registered Python pass. A package's code may raise anything."""
        try:
            return registry.find(name)
        except Exception as error:
            raise self.error(f"pass '{name}' cannot be loaded: {type(error).__name__}: {error}", position) from error

    def python(self, found: type[Pass] | None, node: text.PassNode, anchor: str, position: int) -> Pass:
        """Makes the pass with its options. position: where the user named it."""
        assert found is not None
        if found.anchor not in (anchor, ANY):
            raise self.error(f"'{found.name}' runs on {found.anchor} but stands in {anchor}(...)", position)
        values: dict[str, Any] = {}
        known = {option.name: option for option in found.options()}
        for given in node.options:
            option = known.get(given.name)
            if option is None:
                hint = did_you_mean(given.name, list(known)) or _listed(known)
                raise self.error(f"'{found.name}' has no option '{given.name}'{hint}", given.position)
            if option.field in values:
                raise self.error(f"option '{given.name}' is given twice", given.position)
            if given.value is None and option.type is not bool:
                raise self.error(
                    f"option '{given.name}' needs a value: {given.name}=<{option.type_name}>", given.position
                )
            try:
                values[option.field] = option.parse(given.value or "")
            except ValueError as error:
                raise self.error(f"option '{given.name}': {error}", given.value_position) from None
        try:
            return found(**values)
        except Exception as error:  # __post_init__ checks ranges; it names the option in its sentence
            culprit = next((given.value_position for given in node.options if given.name in str(error)), position)
            raise self.error(f"'{found.name}': {error}", culprit) from error

    def mlir(self, node: text.PassNode) -> MlirPass:
        """Makes a pass of MLIR's own, checked against its registry."""
        spelled = text.element(node.name, node.raw_options)
        refusal = _mlir_refusal(spelled, self.context)
        if refusal is None:
            return MlirPass(spelled)
        if "does not refer to a registered pass" in refusal:
            hint = did_you_mean(node.name, pass_names())
            raise self.error(f"unknown pass '{node.name}'{hint or '; --list-passes shows all'}", node.position)
        for given in node.options:
            refusal = _mlir_refusal(f"{node.name}{{{given}}}", self.context)
            if refusal is None:
                continue
            if "no such option" in refusal:
                known = text.parse(str(PassManager.parse(f"any({node.name})", self.context))).children[0]
                names = {option.name: None for option in known.options} if isinstance(known, text.PassNode) else {}
                hint = did_you_mean(given.name, list(names)) or _listed(names)
                raise self.error(f"'{node.name}' has no option '{given.name}'{hint}", given.position)
            raise self.error(f"'{node.name}' refuses option '{given.name}': {refusal}", given.value_position)
        raise self.error(f"MLIR refuses '{node.name}': {refusal}", node.position)

    def error(self, message: str, position: int) -> PipelineTextError:
        return PipelineTextError(message, self.source, position)


def _listed(options: Iterable[str]) -> str:
    names = ", ".join(options)
    return f"; its options are {names}" if names else "; it has none"


def _mlir_refusal(spelled: str, context: ir.Context) -> str | None:
    """Says what MLIR has against one element of a pipeline, on one line; None if it takes it."""
    try:
        if "{" in spelled:
            _parse_quietly(spelled, context)
        else:
            PassManager.parse(f"any({spelled})", context)
    except ValueError as error:
        reason = str(error).strip().splitlines()[0]
        return reason.removeprefix("<Pass-Options-Parser>:").lstrip(" :").strip()
    return None


def _parse_quietly(spelled: str, context: ir.Context) -> None:
    """Parses a pipeline, and raises what MLIR prints: it writes the reason for a bad value straight to stderr."""
    import tempfile

    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        try:
            PassManager.parse(f"any({spelled})", context)
        except ValueError as error:
            printed.seek(0)
            raise ValueError(printed.read().decode(errors="replace").strip() or str(error)) from None
        finally:
            os.dup2(kept, 2)
            os.close(kept)
