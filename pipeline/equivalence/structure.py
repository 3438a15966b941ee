"""Says whether two modules send the same data over the wire, in the same places, without running them.

This is much weaker than running: it counts bytes by kind, devices and place, and knows nothing of which bytes. A place
is a region, and in it a stretch between two ops with an order of their own (tokens, barriers, side effects); those must
be the same ones in the same order. A transfer in a called function counts where the call stands, so that outlining
several into a group changes nothing. All processes run the one module, so this holds for each of them. That nothing
waits for itself is what MLIR verifies: a value is made before it is used.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, pairs_of
from hloverlap.passes.analysis.effects import Effects
from hloverlap.passes.analysis.replica_groups import ReplicaGroups
from hloverlap.passes.analysis.required_devices import required_counts
from hloverlap.passes.mlir.meshes import Group
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.types import bits_of, element_of, elements_of

Key = tuple[str, str, str]  # place, kind, devices
_Origin = dict[ir.Value, ir.Value]
_Seen = dict[tuple[ir.Value, str], ir.Value]

_MOST_VISITS = 2_000_000  # ops; a function counts as often as it is called


@dataclasses.dataclass
class Structure:
    """Says what ``main`` sends, in bytes of one execution of each place, and lists its ordered ops by place."""

    most: Counter[Key] = dataclasses.field(default_factory=Counter)
    """Everything."""
    least: Counter[Key] = dataclasses.field(default_factory=Counter)
    """Equal permutes of one value in one place count once, for they may be made one."""
    ordered: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, module: ir.Module) -> Structure:
        """Reads a module."""
        return _Reader(module).read()


def first_difference(before: ir.Module, after: ir.Module) -> str | None:
    """Describes the first place where the modules send different data in a clause; "" where there is none.

    Gives None where there are too many paths through calls to follow them all.
    """
    try:
        one, other = Structure.of(before), Structure.of(after)
    except _TooManyPathsError:
        return None
    for number, (was, now) in enumerate(zip(one.ordered, other.ordered, strict=False)):
        if was != now:
            return f"ordered op {number} is {was[1]} in {was[0]} in the original, and now it is {now[1]} in {now[0]}"
    if len(one.ordered) != len(other.ordered):
        return f"the original has {len(one.ordered)} tokens, barriers and side effects, and now {len(other.ordered)}"
    for key in sorted(one.most.keys() | other.most.keys()):
        if not one.least[key] <= other.most[key] <= one.most[key]:
            place, kind, devices = key
            return (
                f"{kind} over {devices} in {place} is {one.most[key]} bytes in the original and {other.most[key]} now"
            )
    return ""


class _TooManyPathsError(Exception):
    """Says that functions call functions several times, on and on."""


class _Reader:
    def __init__(self, module: ir.Module) -> None:
        self._symbols = Symbols(module.operation)
        self._groups = ReplicaGroups(module.operation)
        self._counts = required_counts(module.operation, self._groups)
        self._effects = Effects(self._symbols)
        self._found = Structure()
        self._stretch: Counter[str] = Counter()  # place -> how many ordered ops were met in it
        self._calls: list[str] = []
        self._visits = 0

    def read(self) -> Structure:
        main = self._symbols.functions.get("main")
        if main is not None:
            self._region(main.regions[0], "main", {}, {})
        return self._found

    def _region(self, region: ir.Region, place: str, origin: _Origin, seen: _Seen) -> None:
        """Notes what a region sends.

        origin: the value that another one is the same as: an argument as it is at the call, what is sent twice.
        seen: (value, where it is sent) -> what arrives.
        """
        for block in region:
            self._visits += len(block.operations)
            if self._visits > _MOST_VISITS:
                raise _TooManyPathsError
            for view in block:
                self._op(view.operation, place, origin, seen)

    def _op(self, op: ir.Operation, place: str, origin: _Origin, seen: _Seen) -> None:
        here = f"{place} after {self._stretch[place]} ordered ops" if self._stretch[place] else place
        callee = self._symbols.callee(op)
        if op.name == PERMUTE:
            value = origin.get(op.operands[0], op.operands[0])
            if pairs := _pairs(op):
                self._add((here, op.name, pairs), _bytes(value.type), (value, pairs) not in seen)
                origin[op.results[0]] = seen.setdefault((value, pairs), op.results[0])
            else:
                origin[op.results[0]] = value
        elif op.name in KINDS:
            groups = _listed(self._groups.of(op, self._counts))
            sent = origin.get(op.operands[0], op.operands[0]), f"{op.name} {groups}"
            # One of several values has several results, and is taken for new: that is all that is lost by it.
            is_new = len(op.operands) > 1 or sent not in seen
            self._add((here, op.name, groups), sum(_bytes(operand.type) for operand in op.operands), is_new)
            seen.setdefault(sent, op.results[0])
        elif callee is not None:
            function = self._symbols.functions.get(callee)
            if function is not None and callee not in self._calls:  # a broken module must not hang
                arguments = function.regions[0].blocks[0].arguments if len(function.regions[0].blocks) else ()
                values = [origin.get(operand, operand) for operand in op.operands]
                self._calls.append(callee)
                self._region(function.regions[0], place, origin | dict(zip(arguments, values, strict=False)), seen)
                self._calls.pop()
        elif len(op.regions):
            for number, region in enumerate(op.regions):
                self._region(region, f"{here} / {op.name}#{number}", origin, {})
        elif self._effects.is_ordered(op):
            self._found.ordered.append((here, op.name))
            self._stretch[place] += 1

    def _add(self, key: Key, size: int, is_new: bool) -> None:
        self._found.most[key] += size
        self._found.least[key] += size if is_new else 0


def _pairs(op: ir.Operation) -> str:
    """Writes the pairs that move data, in one order; "" for none."""
    return ",".join(f"{source}->{target}" for source, target in sorted(pairs_of(op)) if source != target)


def _listed(groups: Iterable[Group]) -> str:
    """Writes the devices of each group, for people too."""
    return " ".join("{" + ",".join(map(str, group)) + "}" for group in groups)


def _bytes(type_: ir.Type) -> int:
    """Counts the bytes of a tensor; an element that does not fill a byte counts as one, as packed transfers have it."""
    return elements_of(type_) * max(1, bits_of(element_of(type_)) // 8)
