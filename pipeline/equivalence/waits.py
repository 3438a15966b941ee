"""Says in words where each device or process of a program waits for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hloverlap.pipeline.equivalence.entry import NotRunnableError

Waits = Mapping[int, str]
"""For each device or process, the collectives in which it waits, "" where it has come to its end."""

_MOST_NAMED = 8


class DeadlockError(NotRunnableError):
    """Says that no device can go on."""

    def __init__(self, waiting: Waits) -> None:
        """Takes where each device waits."""
        super().__init__(f"the program waits for ever: {in_words(waiting, 'device')}")
        self.waiting = waiting


def of_units(waiting: Waits, devices: int) -> Waits:
    """Joins the waits of each `devices` devices that follow each other, such as those of one process."""
    places: dict[int, dict[str, None]] = {}
    for device, place in sorted(waiting.items()):
        places.setdefault(device // devices, {})[place] = None
    return {unit: " and ".join(filter(None, each)) for unit, each in places.items()}


def in_words(waiting: Waits, unit: str) -> str:
    """Lists them: ``process 0 in the all_reduce of model.py:12, process 1 at its end``."""
    units: dict[str, list[int]] = {}
    for number, place in sorted(waiting.items()):
        units.setdefault(place, []).append(number)
    return ", ".join(f"{_named(numbers, unit)} {_where(place, len(numbers))}" for place, numbers in units.items())


def _where(place: str, count: int) -> str:
    if place:
        return f"in {place}"
    return "at its end" if count == 1 else "at their end"


def _named(numbers: Sequence[int], unit: str) -> str:
    if len(numbers) == 1:
        return f"{unit} {numbers[0]}"
    named = list(map(str, numbers))
    if len(named) > _MOST_NAMED:
        named[_MOST_NAMED - 1 :] = [f"{len(named) - _MOST_NAMED + 1} more"]
    plural = {"process": "processes"}.get(unit, f"{unit}s")
    return f"{plural} {', '.join(named[:-1])} and {named[-1]}"
