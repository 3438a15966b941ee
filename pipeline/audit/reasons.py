"""Says why nothing hides a transfer: read from the scheduled HLO around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from hloverlap.passes.machine.xla_options import OVERLAP_LIMIT
from hloverlap.pipeline.audit.launches import NEGLIGIBLE, Launch
from hloverlap.pipeline.xla.hlo_cost import CostModel, has_dot
from hloverlap.pipeline.xla.hlo_text import Computation, Instruction, Module

JOINED = "XLA's combiner joined collectives with stream annotations; the joined one runs on the main stream"
IN_TURN = "XLA:CPU runs collectives in turn, on the threads that compute"
MERGED = "the dot merger joined the matmuls beside it into one that needs its result"
GROUP_WAITS = "this XLA waits for a group as soon as it has started it"
CALL_WAITS = "XLA waits for an annotated call as soon as it has started it"


def with_reasons(launches: Sequence[Launch], module: Module, options: Mapping[str, object]) -> list[Launch]:
    """Fills in `lost` of the launches of XLA:GPU wherever no compute hides one."""
    costs = CostModel(module)
    limit = options.get(OVERLAP_LIMIT, 1)
    explained = []
    for launch in launches:
        lost = "" if launch.hidden else _reason(launch, launches, module, costs, limit)
        explained.append(dataclasses.replace(launch, lost=lost))
    return explained


def _reason(launch: Launch, launches: Sequence[Launch], module: Module, costs: CostModel, limit: object) -> str:
    if launch.synchronous and launch.annotation and launch.members > 1:
        return f"{JOINED} (annotation '{launch.annotation}')"
    found = module.find(launch.instruction)
    if found is None:
        return "XLA does not say where it comes from"
    home, anchor = found
    before, after = _relatives(home, anchor)
    free, needed = [], False
    for instruction in home.instructions.values():
        if instruction is anchor:
            continue
        cost = costs.instruction(instruction, home)
        if cost.flops < NEGLIGIBLE.flops and cost.bytes < NEGLIGIBLE.bytes:
            continue
        if instruction.name in after:
            needed = True
        elif instruction.name not in before:
            free.append(instruction)
    if free and launch.stream.startswith("computation"):
        return GROUP_WAITS if launch.group else CALL_WAITS
    if free:
        return _taken(launch, launches, free[0], limit)
    if merged := _merged_dot(home, after, module, launches):
        return f"{MERGED} ({merged.name})"
    if needed:
        return "all compute beside it depends on its result"
    if before:
        return "its operands need all compute beside it, and its result is used at once"
    return "there is no compute beside it"


def _taken(launch: Launch, launches: Sequence[Launch], free: Instruction, limit: object) -> str:
    """Says what hides behind the compute that could hide this launch."""
    others = [other for other in launches if other.sequence == launch.sequence and other.hidden]
    if others and limit == 1:
        return (
            f"the overlap limit lets one collective be in flight, and the compute beside it ({free.name}) hides others"
        )
    if others:
        return f"XLA's scheduler hides other collectives behind the compute beside it ({free.name})"
    return f"XLA's scheduler runs the compute that could hide it ({free.name}) at another time"


def _relatives(home: Computation, anchor: Instruction) -> tuple[set[str], set[str]]:
    """Lists the names of the instructions that `anchor` needs, and of those that need it.

    The text is in dependence order.
    """
    before: set[str] = set()
    pending = list(anchor.operands)
    while pending:
        name = pending.pop()
        if name not in before and name in home.instructions:
            before.add(name)
            pending.extend(home.instructions[name].operands)
    after = {anchor.name}
    for instruction in home.instructions.values():
        if any(operand in after for operand in instruction.operands):
            after.add(instruction.name)
    return before, after - {anchor.name}


def _merged_dot(home: Computation, after: set[str], module: Module, launches: Sequence[Launch]) -> Instruction | None:
    """Finds a matmul over a concatenation that needs the results of several transfers, this one's among them."""
    if sum(1 for launch in launches if launch.instruction in home.instructions) < 2:
        return None
    for name in (name for name in home.instructions if name in after):
        instruction = home.instructions[name]
        if not has_dot(instruction, module):
            continue
        if any(_concatenates(each, module) for each in (instruction, *_sources(home, instruction))):
            return instruction
    return None


def _sources(home: Computation, instruction: Instruction) -> list[Instruction]:
    """Gives the instructions that the operands are before bitcasts and the like."""
    found = []
    for name in instruction.operands:
        source = home.instructions.get(name)
        while source is not None and source.opcode in ("bitcast", "get-tuple-element", "copy") and source.operands:
            source = home.instructions.get(source.operands[0])
        if source is not None:
            found.append(source)
    return found


def _concatenates(instruction: Instruction, module: Module) -> bool:
    return instruction.opcode == "concatenate" or (
        instruction.opcode == "fusion"
        and any(
            inner.opcode == "concatenate"
            for fused in module.reached(instruction)
            for inner in fused.instructions.values()
        )
    )
