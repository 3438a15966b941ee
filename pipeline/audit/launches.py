"""Reads launches from XLA's thunks and scheduled HLO: what the GPU is told to transfer, when, and beside what."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

from hloverlap.pipeline.xla.hlo_cost import Cost, CostModel, received_bytes
from hloverlap.pipeline.xla.hlo_text import Instruction, Module
from hloverlap.pipeline.xla.thunks import MAIN_STREAM, Thunk

ID_ATTRIBUTE = "hloverlap_id"
# Compute of less than this hides no transfer: at 4 TB/s or 20 TFLOP/s it takes a microsecond, a launch alone five.
NEGLIGIBLE = Cost(flops=1 << 24, bytes=1 << 22)

_UNPACKING = {"get-tuple-element", "bitcast", "reshape", "slice", "fusion", "copy", "async-done", "all-reduce-done"}
_UNPACKING |= {"all-gather-done", "collective-permute-done"}
_CONTROL_FLOW = ("kWhile", "kConditional", "kCall", "kCommandBuffer")
_NAMED = re.compile(rf"\b{ID_ATTRIBUTE}\.(\d+)")  # what a start that is a custom call carries its id by


@dataclasses.dataclass(frozen=True)
class Launch:
    """One transfer as XLA starts it: a collective, several that it combined, or a group."""

    ids: tuple[int, ...]
    """The module's collectives in it; () when the partitioner or another XLA pass added it."""
    kind: str
    """The HLO opcode of its collectives."""
    members: int
    """How many collectives it holds."""
    bytes: int
    """The bytes of results that a device receives."""
    stream: str
    """The communication stream; ``main`` when synchronous."""
    group: bool
    """Whether it is one grouped launch of several collectives."""
    runs: int
    """Executions in a run of the module, from loops whose trip count XLA knows."""
    window: tuple[int, int]
    """The positions of its start and its done in the program."""
    sequence: int
    """The thunk sequence that it lies in."""
    instruction: str
    """XLA's name of the instruction."""
    origin: str = ""
    """The op_name that XLA kept."""
    annotation: str = ""
    """The stream annotation that arrived."""
    pairs: str = ""
    beside: tuple[int, ...] = ()
    """Launches, by index, in flight at the same time on another stream."""
    queued: tuple[int, ...] = ()
    """Launches, by index, in flight at the same time on the same stream."""
    peers: tuple[int, ...] = ()
    """Launches, by index, that are independent of it and could run with it."""
    flops: int = 0
    """Floating point operations between its start and its done."""
    moved: int = 0
    """Bytes that compute reads and writes between its start and its done."""
    lost: str = ""
    """Why nothing hides it, a sentence; "" when something does."""

    @property
    def synchronous(self) -> bool:
        """Says whether it runs on the main stream, where no compute runs beside it."""
        return self.stream == MAIN_STREAM

    @property
    def hidden(self) -> bool:
        """Says whether enough compute to count runs beside it."""
        return not self.synchronous and (self.flops >= NEGLIGIBLE.flops or self.moved >= NEGLIGIBLE.bytes)


@dataclasses.dataclass(frozen=True)
class _Sequence:
    """Thunks that run in turn, with where each lies in the whole program."""

    thunks: list[tuple[int, Thunk]]
    runs: int


def find_launches(top: Sequence[Thunk], module: Module) -> list[Launch]:
    """Lists all launches in program order, with what each runs beside. `lost` is left empty."""
    costs = CostModel(module)
    launches: list[Launch] = []
    for number, sequence in enumerate(_sequences(top, module)):
        for place, (position, thunk) in enumerate(sequence.thunks):
            transfers = [] if thunk.kind in _CONTROL_FLOW else _transfers(thunk)
            if transfers:
                launches.append(_launch(sequence, place, position, thunk, transfers, number, module, costs))
    launches.sort(key=lambda launch: launch.window)
    return _with_peers(_with_company(_with_lost_ids(launches, module)), module)


def serialized_pairs(launches: Sequence[Launch]) -> list[tuple[int, int]]:
    """Lists the pairs of independent launches that XLA runs one after the other, each once, by index."""
    return [
        (index, peer)
        for index, launch in enumerate(launches)
        for peer in launch.peers
        if index < peer and peer not in launch.beside
    ]


def _sequences(top: Sequence[Thunk], module: Module) -> Iterator[_Sequence]:
    """Gives every sequence, outer before inner.

    Positions grow in program order, and what a loop holds lies within it.
    """
    counter = 0

    def visit(thunks: Sequence[Thunk], runs: int) -> Iterator[_Sequence]:
        nonlocal counter
        placed: list[tuple[int, Thunk]] = []
        inner: list[_Sequence] = []
        for thunk in _flat(thunks):
            placed.append((counter, thunk))
            counter += 1
            if thunk.kind in _CONTROL_FLOW:
                found = module.find(thunk.instruction)
                times = runs * (found[1].trip_count if found and thunk.kind == "kWhile" else 1)
                for _, region in thunk.regions:
                    inner.extend(visit(region, times))
        yield _Sequence(placed, runs)
        yield from inner

    yield from visit(top, 1)


def _flat(thunks: Sequence[Thunk]) -> Iterator[Thunk]:
    for thunk in thunks:
        if thunk.kind == "kSequential":
            yield from _flat(list(thunk.children()))
        else:
            yield thunk


def _transfers(thunk: Thunk) -> list[Thunk]:
    return [inner for inner in thunk.walk() if inner.is_transfer]


def _launch(
    sequence: _Sequence,
    place: int,
    position: int,
    thunk: Thunk,
    transfers: list[Thunk],
    number: int,
    module: Module,
    costs: CostModel,
) -> Launch:
    instructions = [found[1] for inner in transfers if (found := module.find(inner.instruction))]
    anchor = module.find(thunk.instruction)
    ids = set().union(*map(_ids, instructions)) or (_ids(anchor[1]) if anchor else set())
    end, cost = position, Cost()
    if thunk.async_id is not None:
        end, cost = _until_done(sequence, place, thunk.async_id, module, costs)
    first = instructions[0] if instructions else None
    return Launch(
        ids=tuple(sorted(ids)),
        kind=first.opcode.removesuffix("-start") if first else transfers[0].kind.removeprefix("k"),
        members=max(len(transfers), len(ids)),
        bytes=sum(map(received_bytes, instructions)),
        stream=thunk.stream,
        group=any(inner.kind == "kGroup" for inner in thunk.walk()),
        runs=sequence.runs,
        window=(position, end),
        sequence=number,
        instruction=thunk.instruction,
        origin=_op_name(first),
        annotation=first.frontend.get("_xla_stream_annotation", "") if first else "",
        pairs=(first.attribute("source_target_pairs") or first.attribute("replica_groups")) if first else "",
        flops=cost.flops,
        moved=cost.bytes,
    )


def _until_done(sequence: _Sequence, place: int, async_id: int, module: Module, costs: CostModel) -> tuple[int, Cost]:
    """Finds the position of the done of the async start at `place`, and what is computed before it."""
    cost = Cost()
    end = sequence.thunks[place][0]
    for position, thunk in sequence.thunks[place + 1 :]:
        end = position
        if thunk.kind == "kAsyncDone":
            if thunk.async_id == async_id:
                break
        elif thunk.kind in _CONTROL_FLOW or not _transfers(thunk):
            found = module.find(thunk.instruction)
            cost += costs.instruction(found[1], found[0]) if found else Cost()
    return end, cost


def _with_lost_ids(launches: list[Launch], module: Module) -> list[Launch]:
    """Finds the ids again that a combiner dropped, on what it put behind the combined collective to take it apart."""
    claimed = {id for launch in launches for id in launch.ids}
    found = []
    for launch in launches:
        ids = set() if launch.ids else _ids_behind(launch.instruction, module) - claimed
        if ids:
            claimed |= ids
            launch = dataclasses.replace(launch, ids=tuple(sorted(ids)), members=max(launch.members, len(ids)))
        found.append(launch)
    return found


def _ids_behind(instruction: str, module: Module) -> set[int]:
    """Gives the ids on the unpacking of an instruction's result."""
    home = module.find(instruction)
    if home is None:
        return set()
    ids: set[int] = set()
    unpacked = {instruction}
    for each in home[0].instructions.values():
        if any(operand in unpacked for operand in each.operands) and each.opcode in _UNPACKING:
            ids |= _ids(each)
            if not _ids(each):
                unpacked.add(each.name)
    return ids


def _ids(instruction: Instruction) -> set[int]:
    label = instruction.frontend.get(ID_ATTRIBUTE, "")
    if not label and (named := _NAMED.search(_op_name(instruction))):
        label = named[1]
    return {int(text) for text in label.split(",") if text.isdigit()}


def _with_company(launches: list[Launch]) -> list[Launch]:
    """Adds who is in flight with whom. Only launches whose windows meet are compared."""
    beside: list[set[int]] = [set() for _ in launches]
    queued: list[set[int]] = [set() for _ in launches]
    open_ones: list[int] = []
    for index, launch in enumerate(launches):
        open_ones = [other for other in open_ones if launches[other].window[1] > launch.window[0]]
        for other in open_ones:
            target = queued if launches[other].stream == launch.stream else beside
            target[index].add(other)
            target[other].add(index)
        open_ones.append(index)
    return [
        dataclasses.replace(launch, beside=tuple(sorted(beside[index])), queued=tuple(sorted(queued[index])))
        for index, launch in enumerate(launches)
    ]


def _with_peers(launches: list[Launch], module: Module) -> list[Launch]:
    """Adds each launch's peers: launches of its sequence that neither depend on it nor it on them.

    Only peers at the same depth count, the depth being the number of transfers on the longest way to a launch: of two
    chains that run beside each other, step i of one can be in flight with step i of the other, not with all its steps.
    """
    ancestors, depth = _dependences(launches, module)
    peers: dict[int, list[int]] = {}
    levels: dict[tuple[int, int], list[int]] = {}
    for index, launch in enumerate(launches):
        levels.setdefault((launch.sequence, depth.get(index, -1 - index)), []).append(index)
    for level in levels.values():
        for index in level:
            peers[index] = [
                other
                for other in level
                if other != index and not ancestors[index] >> other & 1 and not ancestors[other] >> index & 1
            ]
    return [dataclasses.replace(launch, peers=tuple(peers[index])) for index, launch in enumerate(launches)]


def _dependences(launches: list[Launch], module: Module) -> tuple[list[int], dict[int, int]]:
    """Gives for each launch a bit set of the launches it needs, and, where XLA names its op, its depth."""
    by_name = {launch.instruction: index for index, launch in enumerate(launches) if launch.instruction}
    ancestors = [0] * len(launches)
    depths: dict[int, int] = {}
    homes = {home.name: home for name in by_name if (found := module.find(name)) and (home := found[0])}
    for home in homes.values():
        masks: dict[str, int] = {}
        depth: dict[str, int] = {}
        for name, instruction in home.instructions.items():
            masks[name] = 0
            depth[name] = 0
            for operand in instruction.operands:
                masks[name] |= masks.get(operand, 0)
                depth[name] = max(depth[name], depth.get(operand, 0))
            index = by_name.get(name)
            if index is not None:
                ancestors[index], depths[index] = masks[name], depth[name]
                masks[name] |= 1 << index
                depth[name] += 1
    return ancestors, depths


def _op_name(instruction: Instruction | None) -> str:
    match = re.search(r'op_name="([^"]*)"', instruction.attributes) if instruction else None
    return match[1] if match else ""
