"""Keeps why permutes are not merged: of several reasons that are found for one, the one that a user is told."""

from __future__ import annotations

from hloverlap.passes.analysis.collectives import Collective
from hloverlap.passes.context import Declined

# These say more than what another strategy finds after them: a cycle, an estimate, a measurement.
_TELLING = frozenset({"MCT006", "MCT011", "MCT014", "MCT016"})


class Reasons:
    """Keeps the reason of each permute, as far as one is known."""

    def __init__(self) -> None:
        self._found: dict[Collective, Declined] = {}

    def found(self, permute: Collective, declined: Declined) -> None:
        """Notes what is about this permute alone: it takes the place of what was found before."""
        self._found[permute] = declined

    def found_of_set(self, permutes: list[Collective], declined: Declined) -> None:
        """Notes what is about permutes together, where nothing that says more is known of one of them."""
        for permute in permutes:
            held = self._found.get(permute)
            if held is None or held.code not in _TELLING:
                self._found[permute] = declined

    def assume(self, permute: Collective, declined: Declined) -> None:
        """Notes what holds if nothing else is found."""
        self._found.setdefault(permute, declined)

    def of(self, permute: Collective, otherwise: Declined) -> Declined:
        """Gives the reason of a permute; `otherwise` where none was found."""
        return self._found.get(permute, otherwise)
