"""Writes what the processes measured, as a table of ratios."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hloverlap.pipeline.children.process_group import elapsed
from hloverlap.tools.bench.processes.cases import KIB, MIB, Case
from hloverlap.tools.bench.processes.worker import APART, VARIANTS
from hloverlap.tools.tables import Table, layout

_SMALL, _MANY = 8 * KIB, 16


@dataclasses.dataclass(frozen=True)
class Measured:
    """One case on one layout, such as ``2x4``."""

    layout: str
    case: Case
    samples: Mapping[str, Sequence[float]]
    """Variant -> seconds by round, as `process_group.elapsed` counts them."""
    equal: Mapping[str, bool]
    """Variant -> whether the bits are those of the program as it is."""
    same_as: Mapping[str, str]
    """Variant -> the first one with the same module; its samples are one and the same."""

    @classmethod
    def of(cls, layout: str, said: Sequence[Mapping[str, Any]]) -> Measured:
        """Sums up what each process said about the case."""
        samples = {
            name: [elapsed(turn) for turn in zip(*(s["samples"][name] for s in said), strict=True)] for name in VARIANTS
        }
        equal = {name: all(s["equal"][name] for s in said) for name in VARIANTS}
        return cls(layout, Case(**said[0]["case"]), samples, equal, said[0]["same_as"])

    def ratio(self, variant: str) -> float:
        """Says how many times faster than the program as it is: the median over the rounds, 1 for the same module."""
        pairs = zip(self.samples[APART], self.samples[variant], strict=True)
        return statistics.median(apart / merged for apart, merged in pairs)

    def as_json(self) -> dict[str, Any]:
        """Gives all of it, with the ratios."""
        return {**dataclasses.asdict(self), "ratio": {name: self.ratio(name) for name in VARIANTS}}


def table(measured: Sequence[Measured]) -> str:
    """Writes a row a case: milliseconds as it is, and how many times faster each strategy makes it."""
    head = ["layout", "pairs", "dtypes", "permutes", "bytes", "apart ms", *list(VARIANTS)[1:], "bits"]
    rows = [
        [
            one.layout,
            one.case.pairs,
            one.case.dtypes,
            str(one.case.count),
            size_text(one.case.bytes),
            f"{statistics.median(one.samples[APART]) * 1e3:.2f}",
            *(_ratio(one, name) for name in list(VARIANTS)[1:]),
            "equal" if all(one.equal.values()) else "DIFFER",
        ]
        for one in measured
    ]
    return layout(Table(head, rows))


def verdict(measured: Sequence[Measured]) -> str:
    """Says what the ratios of auto come to."""
    small = [one.ratio("auto") for one in measured if one.case.bytes <= _SMALL and one.case.count >= _MANY]
    lines = []
    if small:
        lines.append(
            f"auto, {_MANY} or more permutes of up to {size_text(_SMALL)}: {min(small):.2f} to {max(small):.2f} times "
            f"faster, median {statistics.median(small):.2f}"
        )
    if measured:
        worst = min(measured, key=lambda one: one.ratio("auto"))
        case = worst.case
        lines.append(
            f"auto, all {len(measured)} cases: never below {worst.ratio('auto'):.2f} ({worst.layout}, {case.pairs}, "
            f"{case.dtypes}, {case.count} permutes of {size_text(case.bytes)})"
        )
    return "\n".join(lines)


def size_text(size: int) -> str:
    """Writes a size as ``256 B``, ``8 KiB`` or ``16 MiB``."""
    if size < KIB:
        return f"{size} B"
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def _ratio(one: Measured, variant: str) -> str:
    if one.same_as[variant] == APART:
        return "as it is"
    other = one.same_as[variant]
    return f"{one.ratio(variant):.2f}" + (f" ({other})" if other != variant else "")
