"""Fits the constants of a cost model to the simplest cases."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hloverlap.tools.bench.gpu.variants import PLAIN


@dataclasses.dataclass(frozen=True)
class Line:
    """Says that a transfer takes ``latency + bytes / bandwidth``: microseconds and GB/s."""

    latency_us: float
    bandwidth_gbs: float
    error: float
    """The largest relative miss of a measured point."""
    points: int
    """How many points it was fitted to."""


def fit(sizes: Sequence[int], seconds: Sequence[float]) -> Line | None:
    """Finds the line with the least squared relative error; None for fewer than two sizes, or if more is no slower."""
    if len(set(sizes)) < 2:
        return None
    x, y = np.array(sizes, float), np.array(seconds, float)
    (latency, per_byte), *_ = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(x)), rcond=None)
    if per_byte <= 0:
        return None
    miss = float(np.max(np.abs((latency + per_byte * x) / y - 1)))
    return Line(float(latency * 1e6), float(1e-9 / per_byte), miss, len(x))


def constants(results: Sequence[Mapping[str, Any]], devices: int) -> dict[str, Any]:
    """Gives what can be had from the results on so many devices; a constant whose cases did not run is left out.

    link, link_peer: a transfer one way between two devices. ring, ring_peer: every device sends and receives.
    memory_gbs: bytes read and written. matmul_tflops: bf16. launch_us: what one more small permute in a step costs, by
    how it is started.
    """
    found: dict[str, Any] = {}
    for name, family, variant in (
        ("link", "one-way", PLAIN),
        ("link_peer", "one-way", "peer"),
        ("ring", "one-way-ring", PLAIN),
        ("ring_peer", "one-way-ring", "peer"),
    ):
        if devices < 2:
            break  # a device that sends to itself copies
        points = [(case["bytes"], step) for case in _of(results, family) if (step := _step(case, variant))]
        line = fit([size for size, _ in points], [step for _, step in points])
        if line:
            found[name] = dataclasses.asdict(line)
    if copies := [2e-9 * case["bytes"] / step for case in _of(results, "copy") if (step := _step(case, PLAIN))]:
        found["memory_gbs"] = max(copies)
    if rates := [_flops(case) / step * 1e-12 for case in _of(results, "matmul") if (step := _step(case, PLAIN))]:
        found["matmul_tflops"] = max(rates)
    few, lot = (next((c for c in results if c["name"] == f"many/{count}x4KiB"), None) for count in (2, 8))
    if few and lot and devices > 1:
        launches = {}
        for variant in lot["variants"]:
            one, other = _step(few, variant), _step(lot, variant)
            if one and other:
                launches[variant] = (other - one) / 6 * 1e6
        found["launch_us"] = launches
    return found


def _of(results: Sequence[Mapping[str, Any]], family: str) -> list[Mapping[str, Any]]:
    return [case for case in results if case["family"] == family]


def _step(case: Mapping[str, Any], variant: str) -> float | None:
    """Gives the seconds of one exchange; None where the variant was not measured."""
    measured = case["variants"].get(variant, {})
    measured = case["variants"].get(measured.get("same_as", ""), measured)
    return float(measured["seconds"] / case["steps"]) if "seconds" in measured else None


def _flops(case: Mapping[str, Any]) -> float:
    size: float = case["bytes"] / 2
    return 2.0 * math.pow(size, 1.5)
