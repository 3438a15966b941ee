"""Reads what XLA will run, in order, with what each step costs in operations and bytes on whatever machine."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.machine.xla_options import PEER_MEMORY, PERMUTE_MODE
from hloverlap.pipeline.xla.hlo_cost import CostModel, dot_type, is_collective, received_bytes
from hloverlap.pipeline.xla.hlo_places import Places
from hloverlap.pipeline.xla.hlo_text import Module
from hloverlap.pipeline.xla.replica_groups import device_groups
from hloverlap.pipeline.xla.thunks import MAIN_STREAM, Thunk

_SPEED_OF_LIGHT = re.compile(r'\{[^{}]*"exec_time_us":([\d.e+-]+)[^{}]*"name":"sol"[^{}]*\}')
PERMUTE = "collective-permute"
_PAIR = re.compile(r"\{(\d+),(\d+)\}")
_NO_WORK = ("kPartitionId", "kReplicaId")  # a write of four bytes, which XLA folds into what reads it


@dataclasses.dataclass(frozen=True)
class Message:
    """One collective of a launch."""

    opcode: str
    """HLO's, such as ``collective-permute``."""

    bytes: int
    """Bytes of its results on one device."""

    members: int = 1
    """How many collectives XLA's combiner joined in it."""

    pairs: tuple[Pair, ...] = ()
    """The (source, target) pairs of a permute."""

    groups: tuple[tuple[int, ...], ...] = ()
    """The devices that take part together, of any other; () is all of them."""

    by_copy: bool = False
    """Whether XLA was told to copy from device to device instead of going through NCCL."""

    @property
    def is_permute(self) -> bool:
        """Says whether it is a permute."""
        return self.opcode == PERMUTE


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of XLA's executor."""

    kind: Literal["kernel", "transfer", "start", "done", "loop", "branch"]
    """``start`` puts its body on another stream, and ``done`` makes the main stream wait for it; ``branch`` is the
    dearest region of a conditional."""

    name: str
    """XLA's name of the instruction, "" where it names none."""

    place: str = ""
    """Where the user wrote it, as `Places` says."""

    flops: int = 0
    """Floating point operations of a kernel."""

    bytes: int = 0
    """Bytes that a kernel reads and writes."""

    multiplies: str = ""
    """The type of what a matrix product multiplies, such as ``bf16``; "" where a kernel holds none."""

    speed_of_light: float | None = None
    """XLA's lower bound of a kernel's time, in microseconds; None where it says none."""

    messages: tuple[Message, ...] = ()
    """What a transfer moves in one launch."""

    stream: str = MAIN_STREAM
    """Of a start: where its body runs."""

    async_id: int | None = None
    """What joins a start and its done."""

    trips: int | None = None
    """How often a loop runs; None where XLA does not know, and asks the device after each time."""

    body: tuple[Step, ...] = ()
    """The steps of a loop, of a branch or of a start."""


Schedule = tuple[Step, ...]


def read(top: Sequence[Thunk], module: Module, text: str, options: Mapping[str, object]) -> Schedule:
    """Gives the steps of a program. text: of its scheduled HLO, for source lines. options: what XLA was told."""
    return _Reader(module, Places(text), options.get(PERMUTE_MODE) == PEER_MEMORY).steps(top)


def load(stored: Sequence[Mapping[str, Any]]) -> Schedule:
    """Gives back a schedule from what ``dataclasses.asdict`` made of its steps, through JSON or not."""
    return tuple(
        Step(
            **{
                **each,
                "messages": tuple(
                    Message(
                        **{
                            **message,
                            "pairs": tuple((source, target) for source, target in message["pairs"]),
                            "groups": tuple(map(tuple, message["groups"])),
                        }
                    )
                    for message in each["messages"]
                ),
                "body": load(each["body"]),
            }
        )
        for each in stored
    )


class _Reader:
    def __init__(self, module: Module, places: Places, by_copy: bool) -> None:
        self._module = module
        self._places = places
        self._by_copy = by_copy
        self._costs = CostModel(module)

    def steps(self, thunks: Sequence[Thunk]) -> Schedule:
        return tuple(step for thunk in thunks for step in self._steps_of(thunk))

    def _steps_of(self, thunk: Thunk) -> Iterator[Step]:
        found = self._module.find(thunk.instruction)
        place = self._places.of(found[1]) if found else ""
        if thunk.kind in ("kSequential", "kCommandBuffer", "kCall"):
            yield from self.steps(list(thunk.children()))
        elif thunk.kind == "kAsyncStart":
            body = self.steps(list(thunk.children()))
            yield Step("start", thunk.instruction, place, stream=thunk.stream, async_id=thunk.async_id, body=body)
        elif thunk.kind == "kAsyncDone":
            yield Step("done", thunk.instruction, place, async_id=thunk.async_id)
        elif thunk.kind == "kWhile":
            known = found is not None and "known_trip_count" in found[1].attributes
            # Where XLA knows the trips, it does not run the condition.
            regions = [region for label, region in thunk.regions if label != "condition" or not known]
            body = tuple(step for region in regions for step in self.steps(region))
            yield Step(
                "loop", thunk.instruction, place, trips=found[1].trip_count if found and known else None, body=body
            )
        elif thunk.kind == "kConditional":
            bodies = [self.steps(region) for _, region in thunk.regions]
            dearest = max(bodies, key=_weight, default=())
            yield Step("branch", thunk.instruction, place, body=dearest)
        elif thunk.kind == "kGroup" or thunk.is_transfer:
            messages = [self._message(each) for each in thunk.walk() if each.is_transfer]
            yield Step("transfer", thunk.instruction, place, messages=tuple(messages))
        elif thunk.kind not in _NO_WORK and not thunk.kind.endswith("Done"):
            yield self._kernel(thunk, place)

    def _kernel(self, thunk: Thunk, place: str) -> Step:
        found = self._module.find(thunk.instruction)
        if found is None:
            return Step("kernel", thunk.instruction, place)
        home, instruction = found
        if is_collective(instruction.opcode):  # a permute from each device to itself: a copy of each operand
            moved = 2 * received_bytes(instruction) // max(1, len(instruction.operands))
            return Step("kernel", thunk.instruction, place, bytes=moved)
        cost = self._costs.instruction(instruction, home)
        ideal = _SPEED_OF_LIGHT.search(instruction.attributes)
        return Step(
            "kernel",
            thunk.instruction,
            place,
            flops=cost.flops,
            bytes=cost.bytes,
            multiplies=dot_type(instruction, home, self._module),
            speed_of_light=float(ideal[1]) if ideal else None,
        )

    def _message(self, thunk: Thunk) -> Message:
        found = self._module.find(thunk.instruction)
        if found is None:
            return Message(thunk.kind.removeprefix("k"), 0)
        instruction = found[1]
        opcode = instruction.opcode.removesuffix("-start")
        pairs = _PAIR.findall(instruction.attribute("source_target_pairs"))
        return Message(
            opcode,
            received_bytes(instruction),
            max(1, len(instruction.operands)),
            tuple((int(source), int(target)) for source, target in pairs),
            device_groups(instruction.attribute("replica_groups")),
            self._by_copy and opcode == PERMUTE,
        )


def _weight(steps: Schedule) -> tuple[int, int]:
    """Says which of two regions is dearer, by what it moves and computes."""
    total = [0, 0]
    for step in steps:
        inner = _weight(step.body)
        times = step.trips or 1
        total[0] += step.flops + times * inner[0]
        total[1] += step.bytes + sum(message.bytes for message in step.messages) + times * inner[1]
    return total[0], total[1]
