"""Which device sends what to which: from the boxes of an array that devices hold to rounds of permutes.

No jax in here. A device is a position in the transfer's list of devices; a box is one (start, stop) a dimension.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

Box = tuple[tuple[int, int], ...]
Shape = tuple[int, ...]
Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One array to move. dtype: its name. source, target: device -> the box that it holds, that it shall hold.

    donated: whether its buffers may be written over. All boxes of a side have one shape.
    """

    dtype: str
    itemsize: int
    source: Mapping[int, Box]
    target: Mapping[int, Box]
    donated: bool = False

    @property
    def kind(self) -> tuple[str, Shape, Shape, bool]:
        """Leaves of one kind can share a lane."""
        return (
            self.dtype,
            _shape(next(iter(self.source.values()))),
            _shape(next(iter(self.target.values()))),
            self.donated,
        )


@dataclasses.dataclass(frozen=True)
class Move:
    """A part of a shard. source_offset, target_offset: where it starts in the sender's and in the receiver's shard."""

    source: int
    target: int
    shape: Shape
    source_offset: Shape
    target_offset: Shape


@dataclasses.dataclass(frozen=True)
class Round:
    """Moves of one shape, in each of which no device sends twice or receives twice: one permute."""

    shape: Shape
    moves: tuple[Move, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Of the permute, sorted; () when no data leaves its device."""
        pairs = tuple(sorted((move.source, move.target) for move in self.moves))
        return pairs if any(source != target for source, target in pairs) else ()


@dataclasses.dataclass(frozen=True)
class Lane:
    """One argument and one result of the transfer's module: a shard of an array on each device.

    source, target: device -> number of the leaf of which its shard is; other devices hold zeros, or anything.
    """

    dtype: str
    itemsize: int
    source_shape: Shape
    target_shape: Shape
    donated: bool
    source: Mapping[int, int]
    target: Mapping[int, int]
    rounds: tuple[Round, ...]

    @property
    def bytes(self) -> int:
        """Of the larger of the two shards."""
        return self.itemsize * max(math.prod(self.source_shape), math.prod(self.target_shape))


def lanes(leaves: Sequence[Leaf], host: Sequence[int]) -> list[Lane]:
    """Lanes that move all leaves. host: of each device.

    Leaves of one kind on devices of their own, such as the two directions of an exchange, share lanes where this
    makes fewer different sets of pairs: permutes with equal pairs can be packed into one.
    """
    moves = [_moves(leaf, host) for leaf in leaves]
    shared = _lanes(leaves, moves, share=True)
    apart = _lanes(leaves, moves, share=False)
    return shared if _pair_sets(shared) <= _pair_sets(apart) else apart


def chunks(lanes: Sequence[Lane], most_bytes: int) -> list[list[Lane]]:
    """Lanes in order, in parts of at most so many bytes a device; a lane that is larger is a part of its own."""
    parts: list[list[Lane]] = []
    size = 0
    for lane in lanes:
        if not parts or size + lane.bytes > most_bytes:
            parts.append([])
            size = 0
        parts[-1].append(lane)
        size += lane.bytes
    return parts


def _shape(box: Box) -> Shape:
    return tuple(stop - start for start, stop in box)


def _moves(leaf: Leaf, host: Sequence[int]) -> list[Move]:
    """For each target, parts that make up its box, each from itself, from its host, or from who sends least."""
    holders: dict[Box, list[int]] = {}
    for device, box in leaf.source.items():
        holders.setdefault(box, []).append(device)
    sent = dict.fromkeys(leaf.source, 0)
    found = []
    for target, wanted in leaf.target.items():
        for box in [wanted] if wanted in holders else holders:
            part = _common(box, wanted)
            if part is None:
                continue
            # A device that has the part must not be passed over, else it would get it from elsewhere for nothing.
            source = min(
                holders[box], key=lambda device: (device != target, host[device] != host[target], sent[device])
            )
            sent[source] += source != target
            found.append(Move(source, target, _shape(part), _offset(part, box), _offset(part, wanted)))
    return found


def _common(box: Box, other: Box) -> Box | None:
    common = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other, strict=True))
    return common if all(start < stop for start, stop in common) else None


def _offset(part: Box, whole: Box) -> Shape:
    return tuple(start - origin for (start, _), (origin, _) in zip(part, whole, strict=True))


def _lanes(leaves: Sequence[Leaf], moves: Sequence[Sequence[Move]], share: bool) -> list[Lane]:
    open_lanes: dict[object, list[list[int]]] = {}
    order: list[list[int]] = []
    for number, leaf in enumerate(leaves):
        candidates = open_lanes.setdefault(leaf.kind, []) if share else []
        for members in candidates:
            if all(_apart(leaf, leaves[member]) for member in members):
                members.append(number)
                break
        else:
            candidates.append([number])
            order.append(candidates[-1])
    return [_lane(leaves, moves, members) for members in order]


def _apart(leaf: Leaf, other: Leaf) -> bool:
    return leaf.source.keys().isdisjoint(other.source) and leaf.target.keys().isdisjoint(other.target)


def _lane(leaves: Sequence[Leaf], moves: Sequence[Sequence[Move]], members: Sequence[int]) -> Lane:
    first = leaves[members[0]]
    dtype, source_shape, target_shape, donated = first.kind
    return Lane(
        dtype=dtype,
        itemsize=first.itemsize,
        source_shape=source_shape,
        target_shape=target_shape,
        donated=donated,
        source={device: number for number in members for device in leaves[number].source},
        target={device: number for number in members for device in leaves[number].target},
        rounds=_rounds(move for number in members for move in moves[number]),
    )


def _rounds(moves: Iterable[Move]) -> tuple[Round, ...]:
    """Each move in the first round of its shape in which both its devices are free."""
    rounds: list[_OpenRound] = []
    for move in moves:
        free = (round for round in rounds if round.takes(move))
        chosen = next(free, None)
        if chosen is None:
            chosen = _OpenRound(move.shape)
            rounds.append(chosen)
        chosen.add(move)
    return tuple(Round(round.shape, tuple(round.moves)) for round in rounds)


class _OpenRound:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.moves: list[Move] = []
        self._sending: set[int] = set()
        self._receiving: set[int] = set()

    def takes(self, move: Move) -> bool:
        free = move.source not in self._sending and move.target not in self._receiving
        return free and move.shape == self.shape

    def add(self, move: Move) -> None:
        self.moves.append(move)
        self._sending.add(move.source)
        self._receiving.add(move.target)


def _pair_sets(lanes: Sequence[Lane]) -> int:
    """Messages, if permutes with equal pairs are packed into one."""
    return len({round.pairs for lane in lanes for round in lane.rounds} - {()})
