"""Computes which devices are sure to see the same value: the fact that `divergence` carries from value to value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from hloverlap.passes.mlir.meshes import Group

Agreement = tuple[int, ...]
"""Of each device, the number of its class; all devices of a class see the same value. Classes are numbered in the
order of their first devices, so equal agreements are equal tuples."""

Keys = Sequence[Hashable]
"""Of each device, anything that says all that its value depends on."""


class Agreements:
    """Makes agreements among so many devices. Each join is computed once: a module has few different agreements."""

    def __init__(self, devices: int) -> None:
        self.all: Agreement = (0,) * devices
        """Every device sees the same."""
        self.none: Agreement = tuple(range(devices))
        """Nothing is known."""
        self._joined: dict[tuple[Agreement, Agreement], Agreement] = {}

    def of(self, keys: Iterable[Hashable]) -> Agreement:
        """Says that devices with equal keys agree."""
        numbers: dict[Hashable, int] = {}
        return tuple(numbers.setdefault(key, len(numbers)) for key in keys)

    def join(self, one: Agreement, other: Agreement) -> Agreement:
        """Says which devices agree on what depends on two values: those that agree on both."""
        if one is other or other is self.all:
            return one
        if one is self.all:
            return other
        pair = (one, other)
        if pair not in self._joined:
            self._joined[pair] = self._joined[other, one] = self.of(zip(one, other, strict=True))
        return self._joined[pair]

    def join_all(self, agreements: Iterable[Agreement]) -> Agreement:
        """Says which devices agree on what depends on several values."""
        joined = self.all
        for agreement in agreements:
            joined = self.join(joined, agreement)
        return joined

    def gathered(self, value: Agreement, groups: Iterable[Group], by_member: bool) -> Agreement:
        """Says which devices agree on what each group makes of the values of all its members.

        Members of a group agree, and groups whose members agree one by one. by_member: each member has a part of its
        own, so that only those at the same place of their groups can agree. A device in no group has a value of its
        own.
        """
        keys: list[Hashable] = [("alone", device) for device in range(len(value))]
        for group in groups:
            held = tuple(value[device] for device in group)
            for place, device in enumerate(group):
                keys[device] = (held, place) if by_member else held
        return self.of(keys)


def parted(agreement: Agreement, groups: Iterable[Group]) -> tuple[int, int] | None:
    """Finds two members of one group that may see different values; None where each group agrees."""
    for group in groups:
        for device in group:
            if agreement[device] != agreement[group[0]]:
                return group[0], device
    return None
