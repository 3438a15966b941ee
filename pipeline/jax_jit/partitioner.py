"""Puts the permutes on streams that only the partitioner knows, such as those of ``jnp.roll`` on a sharded axis.

XLA calls a `PartitionerCallback` after partitioning, when these permutes are plain instructions of the HLO module.
There the module is read as StableHLO, its permutes are placed by the pass that places all others, and the answer is
copied to the instructions.

The module itself carries the mark that asks for this, so it holds for the right functions and threads; and it makes the
keys of the persistent cache differ, of which such transformations are no part.
"""

from __future__ import annotations

import collections
import threading
from collections.abc import Mapping

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.assign_collective_streams import AssignCollectiveStreams
from hloverlap.passes.machine.xla_options import OVERLAP_LIMIT, CompileOption
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.execution import resolution, running
from hloverlap.pipeline.formats import protobuf
from hloverlap.pipeline.jax_internals import hlo, jit_hook
from hloverlap.pipeline.jax_jit.config import Configs, JitConfig
from hloverlap.pipeline.jax_jit.records import PartitionerPermutes

_MARK = "hloverlap_partitioner_permutes"
_NUMBER = "hloverlap_number"  # tells instructions apart on their way through StableHLO
_NAME = "hloverlap-partitioner-permutes"
_MODULE_FRONTEND_ATTRIBUTES = 19  # field of HloModuleProto
MOST_ANSWERS = 1024  # that are kept; one is asked for as soon as its module is compiled

NOT_FOR_CPU = "XLA:CPU has no streams: the partitioner's permutes are left as they are."
TOO_OLD = "This jaxlib cannot annotate HLO instructions: the partitioner's permutes are left as they are."
NOT_CALLED = "XLA was not asked: the executable came from a cache, with what was done when it was made."


def obstacle(platform: str) -> str:
    """Says in a sentence why nothing can be done on this platform; "" if it can."""
    if platform == "cpu":
        return NOT_FOR_CPU
    return "" if hlo.can_annotate() else TOO_OLD


def make_mark(token: str, fingerprint: str) -> str:
    """Makes the text that stands for a configuration and a module."""
    return f"{token}.{fingerprint}"


def leave_mark(module: ir.Module, mark: str) -> None:
    """Asks for the treatment in a module that is about to be compiled."""
    frontend_attributes.update(module.operation, {_MARK: mark})


def options(config: JitConfig, asked: Mapping[str, CompileOption]) -> dict[str, CompileOption]:
    """Gives the XLA options that it needs. How many permutes there will be is not known yet: there is room for all."""
    held = asked.get(OVERLAP_LIMIT, 0)
    return {OVERLAP_LIMIT: max(2, _assignment(config).max_streams, held if isinstance(held, int) else 0)}


class PartitionerCallback:
    """Answers XLA for each module after partitioning, once `listen` has told it to call, and keeps what came of it."""

    def __init__(self, configs: Configs) -> None:
        self._configs = configs
        self._platforms: list[str] = []  # where XLA was told
        # mark -> what was done; a mark stands for one module and one configuration
        self._answers: collections.OrderedDict[str, PartitionerPermutes] = collections.OrderedDict()
        self._lock = threading.Lock()

    def listen(self) -> None:
        """Tells XLA to call `transform` from now on. Call it when the backend is there."""
        with self._lock:
            if not self._platforms:
                self._platforms.extend(jit_hook.add_transformation(_NAME, self.transform))

    def stop_listening(self) -> None:
        """Tells XLA to call it no more."""
        with self._lock:
            while self._platforms:
                jit_hook.remove_transformation(_NAME, self._platforms.pop())

    def answer(self, mark: str) -> PartitionerPermutes:
        """Gives what became of the permutes of a module with this mark, once it is compiled."""
        with self._lock:
            return self._answers.get(mark, PartitionerPermutes(NOT_CALLED))

    def transform(self, proto: bytes) -> bytes | None:
        """Gives the module with its permutes annotated, or None to leave it alone.

        XLA calls this for every module that it compiles. It never raises, since that would end the process.
        """
        mark = ""
        try:
            mark = _mark_of(proto)
            if not mark:
                return None
            token = mark.partition(".")[0]
            changed, answer = _annotate(proto, _assignment(self._configs.find(token)))
            self._remember(mark, answer)
            return changed
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            self._remember(mark, PartitionerPermutes(f"The partitioner's permutes are left as they are: {reason}"))
            return None

    def _remember(self, mark: str, answer: PartitionerPermutes) -> None:
        with self._lock:
            self._answers[mark] = answer
            self._answers.move_to_end(mark)
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)


def _annotate(proto: bytes, assignment: AssignCollectiveStreams) -> tuple[bytes | None, PartitionerPermutes]:
    module = hlo.from_proto(proto)
    permutes = hlo.permutes(module)
    if not permutes:
        return None, PartitionerPermutes("There are no permutes after partitioning.")
    for number, permute in enumerate(permutes):
        permute.set_frontend_attribute(_NUMBER, str(number))
    converted = ir.Module.parse(hlo.proto_to_stablehlo(hlo.to_proto(module)), make_context(load_all=False))
    # The conversion leaves the regions of loops behind as functions that nothing calls.
    result = running.run_in_place(converted, f"symbol-dce,{assignment}")
    placements = _placements(result.module.operation)
    module = hlo.from_proto(proto)
    annotated = 0
    for number, permute in enumerate(hlo.permutes(module)):
        wanted = placements.get(str(number), [])
        # Two placements of one instruction: a function called in two places, which cannot be copied here.
        if len(wanted) == 1 and wanted[0]:
            stream, key = wanted[0]
            permute.set_frontend_attribute(frontend_attributes.STREAM, stream)
            permute.set_frontend_attribute(frontend_attributes.COMBINER_KEY, key)
            annotated += 1
    statistics = {**result.statistics.get(assignment.name, {}), "num-annotated": annotated}
    answer = PartitionerPermutes(
        f"{annotated} of {len(permutes)} permutes after partitioning are on streams of their own.",
        result.remarks,
        statistics,
    )
    return (module.as_serialized_hlo_module_proto() if annotated else None), answer


def _placements(module: ir.Operation) -> dict[str, list[tuple[str, str] | None]]:
    """Gives for the number of each permute its different (stream, combiner key); None leaves it as it is."""
    found: dict[str, list[tuple[str, str] | None]] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        held = frontend_attributes.read(op)
        if _NUMBER in held:
            placement = None
            if stream_annotations.is_own(op):
                placement = held[frontend_attributes.STREAM], held[frontend_attributes.COMBINER_KEY]
            placements = found.setdefault(held[_NUMBER], [])
            if placement not in placements:
                placements.append(placement)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def _mark_of(proto: bytes) -> str:
    """Gives the mark that `leave_mark` left, "" where there is none."""
    if _MARK.encode() not in proto:
        return ""
    for number, value in protobuf.fields(memoryview(proto)):
        if number == _MODULE_FRONTEND_ATTRIBUTES and isinstance(value, memoryview):
            entries = (each for _, each in protobuf.fields(value) if isinstance(each, memoryview))
            for key, text in ([bytes(part).decode() for _, part in protobuf.fields(entry)] for entry in entries):
                if key == _MARK:
                    return text
    return ""


def _assignment(config: JitConfig) -> AssignCollectiveStreams:
    """Gives the pass as the pipeline has it, else with its defaults."""
    for step in resolution.passes_of(config.steps):
        if isinstance(step, AssignCollectiveStreams):
            return step
    return AssignCollectiveStreams()
