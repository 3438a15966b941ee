"""Estimates the cost of optimized HLO: what runs beside a collective, in floating point operations and bytes."""

from __future__ import annotations

import dataclasses
import math
import re

from hloverlap.pipeline.xla.hlo_text import Computation, Instruction, Module, dimensions_of, shape_bytes, tuple_parts

COLLECTIVES = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
    "send",
    "recv",
)
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id"}
_FREE |= {"async-done", "async-update", "opt-barrier", "add-dependency", "domain"}
_MOVES = {"copy", "slice", "concatenate", "broadcast", "transpose", "reshape", "dynamic-slice", "pad", "iota", "gather"}
_MOVES |= {"dynamic-update-slice", "reverse", "copy-start", "copy-done", "bitcast-convert", "scatter"}
_CONTRACTING = re.compile(r'lhs_contracting_dim(?:s=\{|ensions":\[)([^}\]]*)')


@dataclasses.dataclass(frozen=True)
class Cost:
    """Sums up arithmetic and memory traffic."""

    flops: int = 0
    """Floating point (or integer) operations; a multiply-add is two."""
    bytes: int = 0
    """Bytes that are read and written in memory."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)

    def __mul__(self, times: int) -> Cost:
        return Cost(self.flops * times, self.bytes * times)


def is_collective(opcode: str) -> bool:
    """Says whether instructions of this opcode move data between devices, their start and done halves included."""
    return opcode.removesuffix("-start").removesuffix("-done") in COLLECTIVES


def received_bytes(instruction: Instruction) -> int:
    """Counts the bytes of a collective's results; the shape of a start also holds its operands, and maybe contexts."""
    if not instruction.opcode.endswith("-start"):
        return instruction.bytes
    parts = tuple_parts(instruction.shape)
    return shape_bytes(parts[1] if len(parts) > 1 else instruction.shape)


class CostModel:
    """Knows the costs of one module's instructions. Collectives cost nothing here: they are what is to be hidden."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._computations: dict[str, Cost] = {}

    def instruction(self, instruction: Instruction, home: Computation) -> Cost:
        """Estimates a run of `instruction` of `home`; a loop costs its known trip count, a conditional its worst."""
        opcode = instruction.opcode
        if opcode in _FREE or is_collective(opcode):
            return Cost()
        called = [self._module.computations[name] for name in instruction.called if name in self._module.computations]
        if opcode == "while":
            return sum(map(self._sequence, called), Cost()) * instruction.trip_count
        if opcode == "conditional":
            return max(map(self._sequence, called), key=lambda cost: (cost.flops, cost.bytes), default=Cost())
        if opcode in ("call", "async-start"):
            return sum(map(self._sequence, called), Cost())
        if opcode == "fusion":
            flops = sum(_flops(inner, fused) for fused in called for inner in fused.instructions.values())
            return Cost(flops, _fusion_bytes(instruction, home, called))
        if opcode == "dynamic-update-slice":  # in place
            return Cost(0, 2 * shape_bytes(home.operand_shape(instruction, 1)))
        return Cost(_flops(instruction, home), _operand_bytes(instruction, home) + instruction.bytes)

    def _sequence(self, computation: Computation) -> Cost:
        cached = self._computations.get(computation.name)
        if cached is None:
            cached = Cost()
            for instruction in computation.instructions.values():
                cached += self.instruction(instruction, computation)
            self._computations[computation.name] = cached
        return cached


def has_dot(instruction: Instruction, module: Module) -> bool:
    """Says whether `instruction` is a matmul or a fusion around one."""
    if _is_dot(instruction):
        return True
    return instruction.opcode == "fusion" and any(
        _is_dot(inner) for fused in module.reached(instruction) for inner in fused.instructions.values()
    )


def dot_type(instruction: Instruction, home: Computation, module: Module) -> str:
    """Gives the element type of what a matmul multiplies, such as ``bf16``; "" where `instruction` holds no matmul."""
    if _is_dot(instruction):
        match = re.match(r"\w+", home.operand_shape(instruction, 0))
        return match[0] if match else ""
    if instruction.opcode != "fusion":
        return ""
    inside = ((inner, fused) for fused in module.reached(instruction) for inner in fused.instructions.values())
    return next((dot_type(inner, fused, module) for inner, fused in inside if _is_dot(inner)), "")


def _is_dot(instruction: Instruction) -> bool:
    target = instruction.attribute("custom_call_target")
    return instruction.opcode == "dot" or (
        instruction.opcode == "custom-call" and ("gemm" in target or "mat" in target)
    )


def _flops(instruction: Instruction, home: Computation) -> int:
    results = math.prod(dimensions_of(instruction.shape))
    if _is_dot(instruction):
        contracting = _CONTRACTING.search(instruction.attributes)
        sizes = dimensions_of(home.operand_shape(instruction, 0))
        if contracting is None or not sizes:
            return 2 * results
        summed = [int(index) for index in re.findall(r"\d+", contracting[1])]
        return 2 * results * math.prod(sizes[index] for index in summed)
    if instruction.opcode in _FREE or instruction.opcode in _MOVES or instruction.opcode == "custom-call":
        return 0
    if instruction.opcode in ("reduce", "reduce-window"):
        return math.prod(dimensions_of(home.operand_shape(instruction, 0)))
    return results


def _operand_bytes(instruction: Instruction, home: Computation) -> int:
    if instruction.opcode in ("dynamic-slice", "slice", "gather"):
        return instruction.bytes
    return sum(shape_bytes(home.operand_shape(instruction, index)) for index in range(len(instruction.operands)))


def _fusion_bytes(fusion: Instruction, home: Computation, called: list[Computation]) -> int:
    """Counts the bytes of operands and result. Only the slices of what is sliced or updated in place count."""
    if not called:
        return _operand_bytes(fusion, home) + fusion.bytes
    fused = called[0]
    root = fused.root
    total = fusion.bytes
    if root.opcode == "dynamic-update-slice" and root.operands[1] in fused.instructions:
        total = fused.instructions[root.operands[1]].bytes
    users: dict[str, list[Instruction]] = {}
    for inner in fused.instructions.values():
        for name in inner.operands:
            users.setdefault(name, []).append(inner)
    for parameter in fused.instructions.values():
        if parameter.opcode != "parameter":
            continue
        uses = users.get(parameter.name, [])
        if uses and all(use.opcode in ("dynamic-slice", "slice") for use in uses):
            total += sum(use.bytes for use in uses)
        elif uses == [root] and root.opcode == "dynamic-update-slice" and root.operands[0] == parameter.name:
            continue  # updated in place, what is there is not read
        else:
            total += parameter.bytes
    return total
