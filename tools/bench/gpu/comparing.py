"""Holds predicted times against measured ones: a report's table beside the results of a compile for as many GPUs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hloverlap.tools.bench.gpu.report import table
from hloverlap.tools.bench.gpu.variants import PLAIN

DIFFERENT = 1.05  # two times further apart than this are not the same: runs of one program vary by three percent
Times = dict[str, dict[str, float]]
"""Microseconds of one run, by program and variant."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """Says how well ratios between two variants of one program are predicted."""

    median: float
    """The median of how far a predicted ratio is off, as a share of the measured one."""
    ninth: float
    """What nine of ten are within."""
    named: float
    """Of pairs that differ by more than `DIFFERENT`, the share of which the faster one is named."""
    pairs: int
    different: int


def measured(text: str) -> Times:
    """Reads the first table of speed-ups in a report. Raises ValueError where there is none.

    A variant that is the same program as plain is left out, and one that was not measured.
    """
    lines = iter(text.splitlines())
    head = next((cells for cells in map(_cells, lines) if cells[:2] == ["program", PLAIN]), None)
    if head is None:
        raise ValueError("there is no table of speed-ups")
    next(lines)
    found: Times = {}
    for cells in map(_cells, lines):
        if len(cells) != len(head):
            break
        plain = 1e3 * float(cells[1].removesuffix(" ms"))
        found[cells[0]] = {PLAIN: plain}
        for name, cell in zip(head[3:], cells[3:], strict=True):
            if cell not in ("=", "-"):
                found[cells[0]][name] = plain / float(cell.rstrip("!"))
    return found


def predicted(results: Mapping[str, Any], devices: int) -> Times:
    """Gives the predicted times of a compile for so many GPUs; of variants that are one program, the first's only."""
    cases = results.get("compiled", {}).get(str(devices), {}).get("cases", [])
    return {
        case["name"]: {
            name: told["predicted"]["microseconds"]
            for name, told in case["variants"].items()
            if told.get("predicted") and "same_as" not in told
        }
        for case in cases
    }


def fitted(names: Sequence[str]) -> set[str]:
    """Says which half of the programs constants were fitted on: every second, by name."""
    return set(sorted(names)[::2])


def figures(real: Times, guessed: Times) -> Figures:
    """Compares every two variants of a program that were measured and predicted."""
    errors, names = [], []
    for program in real.keys() & guessed.keys():
        both = sorted(real[program].keys() & guessed[program].keys())
        for one, other in itertools.combinations(both, 2):
            ratio = real[program][one] / real[program][other]
            guess = guessed[program][one] / guessed[program][other]
            errors.append(abs(guess / ratio - 1))
            if abs(math.log(ratio)) > math.log(DIFFERENT):
                names.append(guess != 1 and (guess > 1) == (ratio > 1))
    errors.sort()
    count = len(errors)
    if not count:
        raise ValueError("no variant of a program was both measured and predicted")
    share = sum(names) / len(names) if names else 1.0
    return Figures(errors[count // 2], errors[min(count - 1, 9 * count // 10)], share, count, len(names))


def markdown(real: Times, guessed: Times) -> str:
    """Writes the figures, and a row for each variant of each program."""
    half = fitted(list(real))
    parts = [("all", set(real)), ("those that constants were fitted on", half), ("the others", set(real) - half)]
    head = ["programs", "pairs", "ratio off, median", "nine of ten within", "differ by 5 %", "faster one named"]
    rows = []
    for name, programs in parts:
        found = figures({key: value for key, value in real.items() if key in programs}, guessed)
        shares = f"{found.median:.1%}", f"{found.ninth:.1%}", str(found.different), f"{found.named:.1%}"
        rows.append([name, str(found.pairs), *shares])
    columns = ["program", "variant", "measured", "predicted", "over plain, measured", "predicted"]
    return f"{table(head, rows)}\n\n{table(columns, _rows(real, guessed, half))}\n"


def _rows(real: Times, guessed: Times, half: set[str]) -> Iterator[list[str]]:
    for program, times in real.items():
        found = guessed.get(program, {})
        for variant in (variant for variant in times if variant in found):
            label = program if program in half else f"{program} \\*"
            ratios = [f"{each[variant] / each[PLAIN]:.2f}" if PLAIN in each else "-" for each in (times, found)]
            yield [label, variant, f"{times[variant]:.0f} us", f"{found[variant]:.0f} us", *ratios]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
