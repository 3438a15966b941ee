"""Plans which device sends what to which: from the boxes of arrays that devices hold to rounds of permutes.

This file knows nothing of jax. A device is a position in the transfer's list of devices.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

Box = tuple[tuple[int, int], ...]  # (start, stop) of each dimension
Shape = tuple[int, ...]
Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class ArrayBoxes:
    """Says which boxes of one array devices hold, and which they shall hold; on each side all have one shape."""

    dtype: str
    """The dtype's name."""
    itemsize: int
    """Bytes of an element."""
    source: Mapping[int, Box]
    """device -> the box that it holds."""
    target: Mapping[int, Box]
    """device -> the box that it shall hold."""
    donated: bool = False
    """Whether the array's buffers may be written over."""

    @property
    def kind(self) -> tuple[str, Shape, Shape, bool]:
        """Gives what arrays must have in common to share a slot."""
        return (
            self.dtype,
            _shape(next(iter(self.source.values()))),
            _shape(next(iter(self.target.values()))),
            self.donated,
        )


@dataclasses.dataclass(frozen=True)
class Move:
    """The way of a part of a shard from device to device."""

    source: int
    target: int
    shape: Shape
    """The part's shape."""
    source_offset: Shape
    """Where the part starts in the sender's shard."""
    target_offset: Shape
    """Where the part starts in the receiver's shard."""


@dataclasses.dataclass(frozen=True)
class Round:
    """Moves of one shape, among which no device sends twice and none receives twice, so that one permute makes them."""

    shape: Shape
    moves: tuple[Move, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Gives the sorted source/target pairs of the permute; () when no data leaves its device."""
        pairs = tuple(sorted((move.source, move.target) for move in self.moves))
        return pairs if any(source != target for source, target in pairs) else ()


@dataclasses.dataclass(frozen=True)
class Slot:
    """One argument of the transfer's module and the result that belongs to it, with one shard on each device.

    Arrays on devices of their own can share a slot: each device holds the shard of its own array.
    """

    dtype: str
    """The dtype's name."""
    itemsize: int
    """Bytes of an element."""
    source_shape: Shape
    """The shape of the argument's shards."""
    target_shape: Shape
    """The shape of the result's shards."""
    donated: bool
    """Whether the argument's buffers may be written over."""
    source: Mapping[int, int]
    """device -> number of the array of which the argument holds a shard there; elsewhere it holds zeros."""
    target: Mapping[int, int]
    """device -> number of the array of which the result holds a shard there; elsewhere it holds anything."""
    rounds: tuple[Round, ...]
    """The permutes, in order."""

    @property
    def bytes(self) -> int:
        """Counts the bytes of the larger of its two shards."""
        return self.itemsize * max(math.prod(self.source_shape), math.prod(self.target_shape))


def plan(arrays: Sequence[ArrayBoxes], host: Sequence[int]) -> list[Slot]:
    """Gives slots that move all arrays. host: of each device.

    Arrays of one kind on devices of their own, such as the two directions of an exchange, share slots where this
    makes no more different sets of pairs: permutes with equal pairs can be packed into one.
    """
    moves = [_moves(array, host) for array in arrays]
    shared = _slots(arrays, moves, share=True)
    separate = _slots(arrays, moves, share=False)
    return shared if _pair_sets(shared) <= _pair_sets(separate) else separate


def chunks(slots: Sequence[Slot], most_bytes: int) -> list[list[Slot]]:
    """Cuts slots, in order, into parts of at most so many bytes a device; a larger slot is a part of its own."""
    parts: list[list[Slot]] = []
    size = 0
    for slot in slots:
        if not parts or size + slot.bytes > most_bytes:
            parts.append([])
            size = 0
        parts[-1].append(slot)
        size += slot.bytes
    return parts


def _shape(box: Box) -> Shape:
    return tuple(stop - start for start, stop in box)


def _moves(array: ArrayBoxes, host: Sequence[int]) -> list[Move]:
    """Finds parts that make up the box of each target: its own, else of its host, else of who sends least."""
    holders: dict[Box, list[int]] = {}
    for device, box in array.source.items():
        holders.setdefault(box, []).append(device)
    sent = dict.fromkeys(array.source, 0)
    found = []
    for target, wanted in array.target.items():
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


def _slots(arrays: Sequence[ArrayBoxes], moves: Sequence[Sequence[Move]], share: bool) -> list[Slot]:
    open_slots: dict[object, list[list[int]]] = {}
    order: list[list[int]] = []
    for number, array in enumerate(arrays):
        candidates = open_slots.setdefault(array.kind, []) if share else []
        for members in candidates:
            if all(_use_other_devices(array, arrays[member]) for member in members):
                members.append(number)
                break
        else:
            candidates.append([number])
            order.append(candidates[-1])
    return [_slot(arrays, moves, members) for members in order]


def _use_other_devices(array: ArrayBoxes, other: ArrayBoxes) -> bool:
    return array.source.keys().isdisjoint(other.source) and array.target.keys().isdisjoint(other.target)


def _slot(arrays: Sequence[ArrayBoxes], moves: Sequence[Sequence[Move]], members: Sequence[int]) -> Slot:
    first = arrays[members[0]]
    dtype, source_shape, target_shape, donated = first.kind
    return Slot(
        dtype=dtype,
        itemsize=first.itemsize,
        source_shape=source_shape,
        target_shape=target_shape,
        donated=donated,
        source={device: number for number in members for device in arrays[number].source},
        target={device: number for number in members for device in arrays[number].target},
        rounds=_rounds(move for number in members for move in moves[number]),
    )


def _rounds(moves: Iterable[Move]) -> tuple[Round, ...]:
    """Puts each move in the first round of its shape in which both its devices are free."""
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


def _pair_sets(slots: Sequence[Slot]) -> int:
    """Counts the messages that are sent if permutes with equal pairs are packed into one."""
    return len({round.pairs for slot in slots for round in slot.rounds} - {()})
