"""Streams for the permutes that only the partitioner knows, such as those of ``jnp.roll`` on a sharded axis.

XLA calls `_transform` after partitioning, when these permutes are plain instructions of the HLO module. There the
module is read as StableHLO, placed by the pass that places all others, and the answer is copied to the instructions.

The module itself carries the word that it wants this, so it holds for the right functions and threads; and it
makes the keys of the persistent cache differ, of which such transformations are no part.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from jaxlib.mlir import ir

from hloverlap.passes.analysis import stream_annotations
from hloverlap.passes.analysis.collectives import PERMUTE
from hloverlap.passes.assign_collective_streams import OVERLAP_LIMIT, AssignCollectiveStreams
from hloverlap.passes.context import CompileOption
from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.walk import ops_in
from hloverlap.pipeline import jax_internals
from hloverlap.pipeline.execution import resolution, running
from hloverlap.pipeline.formats import protobuf
from hloverlap.pipeline.jax_jit import settings as settings
from hloverlap.pipeline.jax_jit.records import PartitionerPermutes
from hloverlap.pipeline.jax_jit.settings import Setting

_MARK = "hloverlap_partitioner_permutes"
_NUMBER = "hloverlap_number"  # tells instructions apart on their way through StableHLO
_NAME = "hloverlap-partitioner-permutes"
_MODULE_FRONTEND_ATTRIBUTES = 19  # field of HloModuleProto

NOT_FOR_CPU = "XLA:CPU has no streams: the partitioner's permutes are left as they are."
TOO_OLD = "This jaxlib cannot annotate HLO instructions: the partitioner's permutes are left as they are."
NOT_CALLED = "XLA was not asked: the executable came from a cache, with what was done when it was made."


def obstacle(platform: str) -> str:
    """Why nothing can be done on this platform, as a sentence; "" if it can."""
    if platform == "cpu":
        return NOT_FOR_CPU
    return "" if jax_internals.can_annotate_hlo() else TOO_OLD


def make_mark(token: str, fingerprint: str) -> str:
    """The text that stands for a setting and a module."""
    return f"{token}.{fingerprint}"


def leave_mark(module: ir.Module, mark: str) -> None:
    """Asks for it in a module that is about to be compiled."""
    frontend_attributes.update(module.operation, {_MARK: mark})


def options(setting: Setting, asked: Mapping[str, CompileOption]) -> dict[str, CompileOption]:
    """The XLA options for it. How many permutes there will be is not known yet: room for all streams is made."""
    held = asked.get(OVERLAP_LIMIT, 0)
    return {OVERLAP_LIMIT: max(2, _assignment(setting).max_streams, held if isinstance(held, int) else 0)}


_registered: list[str] = []
_answers: dict[str, PartitionerPermutes] = {}  # mark -> what was done; a mark stands for one module and one setting
_lock = threading.Lock()


def listen() -> None:
    """Tells XLA to call `_transform` from now on. Call it when the backend is there."""
    with _lock:
        if not _registered:
            _registered.extend(jax_internals.add_hlo_transformation(_NAME, _transform))


def stop_listening() -> None:
    """Tells XLA to call it no more."""
    with _lock:
        while _registered:
            jax_internals.remove_hlo_transformation(_NAME, _registered.pop())


def answer(mark: str) -> PartitionerPermutes:
    """What became of the permutes of a module with this mark, once it is compiled."""
    return _answers.get(mark, PartitionerPermutes(NOT_CALLED))


def _transform(proto: bytes) -> bytes | None:
    """The module with its permutes annotated, or None to leave it alone. XLA calls this for every module it compiles.

    It never raises, since that would end the process.
    """
    token = mark = ""
    try:
        mark = _mark_of(proto)
        if not mark:
            return None
        token = mark.partition(".")[0]
        changed, _answers[mark] = _annotate(proto, _assignment(settings.find(token)))
        return changed
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        _answers[mark] = PartitionerPermutes(f"The partitioner's permutes are left as they are: {said}")
        return None


def _annotate(proto: bytes, assignment: AssignCollectiveStreams) -> tuple[bytes | None, PartitionerPermutes]:
    module = jax_internals.read_hlo(proto)
    permutes = jax_internals.hlo_permutes(module)
    if not permutes:
        return None, PartitionerPermutes("There are no permutes after partitioning.")
    for number, permute in enumerate(permutes):
        permute.set_frontend_attribute(_NUMBER, str(number))
    converted = ir.Module.parse(jax_internals.hlo_to_stablehlo(module), make_context(load_all=False))
    # The conversion leaves the regions of loops behind as functions that nothing calls.
    result = running.run_in_place(converted, f"symbol-dce,{assignment}")
    wishes = _wishes(result.module.operation)
    module = jax_internals.read_hlo(proto)
    annotated = 0
    for number, permute in enumerate(jax_internals.hlo_permutes(module)):
        wished = wishes.get(str(number), [])
        # Two answers for one instruction: a function called in two places, which cannot be copied here.
        if len(wished) == 1 and wished[0]:
            stream, key = wished[0]
            permute.set_frontend_attribute(frontend_attributes.STREAM, stream)
            permute.set_frontend_attribute(frontend_attributes.COMBINER_KEY, key)
            annotated += 1
    statistics = {**result.statistics.get(assignment.name, {}), "num-annotated": annotated}
    told = PartitionerPermutes(
        f"{annotated} of {len(permutes)} permutes after partitioning are on streams of their own.",
        result.remarks,
        statistics,
    )
    return (module.as_serialized_hlo_module_proto() if annotated else None), told


def _wishes(module: ir.Operation) -> dict[str, list[tuple[str, str] | None]]:
    """number of a permute -> its different (stream, combiner key); None is a wish to stay as it is."""
    found: dict[str, list[tuple[str, str] | None]] = {}

    for op in ops_in(module, PERMUTE):
        held = frontend_attributes.read(op)
        if _NUMBER in held:
            wish = None
            if stream_annotations.is_own(op):
                wish = held[frontend_attributes.STREAM], held[frontend_attributes.COMBINER_KEY]
            wishes = found.setdefault(held[_NUMBER], [])
            if wish not in wishes:
                wishes.append(wish)
    return found


def _mark_of(proto: bytes) -> str:
    """The mark that `mark` left, "" where there is none."""
    if _MARK.encode() not in proto:
        return ""
    for number, value in protobuf.fields(memoryview(proto)):
        if number == _MODULE_FRONTEND_ATTRIBUTES and isinstance(value, memoryview):
            entries = (each for _, each in protobuf.fields(value) if isinstance(each, memoryview))
            for key, text in ([bytes(part).decode() for _, part in protobuf.fields(entry)] for entry in entries):
                if key == _MARK:
                    return text
    return ""


def _assignment(setting: Setting) -> AssignCollectiveStreams:
    """The pass as the pipeline has it, else with its defaults."""
    for step in resolution.passes_of(setting.steps):
        if isinstance(step, AssignCollectiveStreams):
            return step
    return AssignCollectiveStreams()
