"""Source-target pairs as programs have them: rings, halos, swaps, part of the devices, nobody, everybody to itself."""

from __future__ import annotations

from hypothesis import strategies as st

Pairs = list[tuple[int, int]]


@st.composite
def pairs(draw: st.DrawFn, devices: int) -> Pairs:
    """Pairs over `devices` ids, in some order; no source and no target is there twice."""
    everyone = range(devices)
    kind = draw(
        st.sampled_from(["ring", "back", "shift", "halo", "halo back", "swap", "part", "any", "identity", "empty"])
    )
    match kind:
        case "ring":
            found = [(i, (i + 1) % devices) for i in everyone]
        case "back":
            found = [(i, (i - 1) % devices) for i in everyone]
        case "shift":
            by = draw(st.integers(1, devices - 1))
            found = [(i, (i + by) % devices) for i in everyone]  # several cycles where `by` divides `devices`
        case "halo":
            found = [(i, i + 1) for i in everyone[:-1]]
        case "halo back":
            found = [(i, i - 1) for i in everyone[1:]]
        case "swap":
            found = [(i, i ^ 1) for i in everyone if i ^ 1 < devices]
        case "identity":
            found = [(i, i) for i in everyone if i % 2 == 0 or draw(st.booleans())]
        case "empty":
            found = []
        case _:
            targets = draw(st.permutations(everyone))
            found = list(zip(everyone, targets, strict=True))
            if kind == "part":
                found = found[: draw(st.integers(1, devices))]
    return draw(st.permutations(found)) if draw(st.integers(0, 3)) == 0 else found
