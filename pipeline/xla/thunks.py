"""Reads the thunks that XLA:GPU's executor runs, as XLA dumps them in text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from hloverlap.pipeline.xla.hlo_text import Computation, Instruction, Module

_LINE = re.compile(r"(?P<indent> *)(?P<id>\d+): (?P<kind>k\w+)\s+\[[^\]]*\](?P<rest>.*)")
_REGION = re.compile(r"\s*(?P<name>\w+):")
_STREAM = re.compile(r"stream=(\S+?),")
_ASYNC = re.compile(r"async_id=(\d+)")
_METADATA = re.compile(r'profile_annotation: "(?P<name>[^"]*)"\s+thunk_id: (?P<id>\d+)')
_TRANSFERS = re.compile(r"k(All|Collective|Ragged|ReduceScatter|Send|Recv|Nvshmem)(?!.*Done)")

MAIN_STREAM = "main"


@dataclasses.dataclass
class Thunk:
    """One step of the executor."""

    id: int
    """XLA's number."""
    kind: str
    """E.g. ``kAsyncStart``, ``kCollectivePermute``, ``kGroup``, ``kWhile``."""
    instruction: str
    """The name of the HLO instruction it came from, "" when XLA names none."""
    stream: str = MAIN_STREAM
    """Of an async start, such as ``communication_stream[3]``; else "main"."""
    async_id: int | None = None
    """What joins an async start to its done; None elsewhere."""
    regions: list[tuple[str, list[Thunk]]] = dataclasses.field(default_factory=list)
    """Nested sequences by label, in order: ``condition`` and ``body`` of a loop, branches, "" of an async body."""

    @property
    def is_transfer(self) -> bool:
        """Says whether the thunk itself moves data between devices."""
        return _TRANSFERS.match(self.kind) is not None

    def children(self) -> Iterator[Thunk]:
        """Gives the thunks of all regions, in order."""
        for _, region in self.regions:
            yield from region

    def walk(self) -> Iterator[Thunk]:
        """Gives this thunk and everything in it."""
        yield self
        for child in self.children():
            yield from child.walk()


def parse_thunks(sequence: str, metadata: str) -> list[Thunk]:
    """Reads the top-level sequence from ``*.thunk_sequence.txt`` and ``*.thunk_metadata.txt`` of any supported jaxlib.

    Nesting is read from the indentation; the order of ids, in which versions differ, means nothing.
    """
    names = {int(match["id"]): match["name"] for match in _METADATA.finditer(metadata)}
    top: list[Thunk] = []
    open_thunks: list[tuple[int, Thunk]] = []
    label = ""
    for line in sequence.splitlines():
        match = _LINE.match(line)
        if match is None:
            region = _REGION.fullmatch(line.rstrip())
            label = region["name"] if region else label
            continue
        indent = len(match["indent"])
        while open_thunks and open_thunks[-1][0] >= indent:
            open_thunks.pop()
        thunk = _thunk(match, names)
        if open_thunks:
            parent = open_thunks[-1][1]
            if label or not parent.regions:
                parent.regions.append((label, []))
            parent.regions[-1][1].append(thunk)
        else:
            top.append(thunk)
        label = ""
        open_thunks.append((indent, thunk))
    return top


def _thunk(match: re.Match[str], names: dict[int, str]) -> Thunk:
    stream = _STREAM.search(match["rest"])
    async_id = _ASYNC.search(match["rest"])
    number = int(match["id"])
    return Thunk(
        id=number,
        kind=match["kind"],
        instruction=names.get(number, ""),
        stream=stream[1] if stream else MAIN_STREAM,
        async_id=int(async_id[1]) if async_id else None,
    )


def schedule_as_thunks(module: Module) -> list[Thunk]:
    """Makes thunks for a backend that dumps none and runs its schedule in turn on one stream, as XLA:CPU does."""
    return _scheduled(module.computations[module.entry], module) if module.entry else []


def _scheduled(computation: Computation, module: Module) -> list[Thunk]:
    return [
        Thunk(number, _kind(instruction), instruction.name, regions=_regions(instruction, module))
        for number, instruction in enumerate(computation.instructions.values())
        if not instruction.opcode.endswith("-done")
    ]


def _kind(instruction: Instruction) -> str:
    """Turns ``collective-permute-start`` into ``kCollectivePermute``."""
    return "k" + "".join(part.title() for part in instruction.opcode.removesuffix("-start").split("-"))


def _regions(instruction: Instruction, module: Module) -> list[tuple[str, list[Thunk]]]:
    if instruction.opcode not in ("while", "conditional", "call"):
        return []
    called = (module.computations[name] for name in instruction.called if name in module.computations)
    return [(computation.name, _scheduled(computation, module)) for computation in called]
