"""Reads from XLA's thunks what will happen: as hlo-audit does, of the very program that is measured."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from hloverlap.passes.machine import xla_options
from hloverlap.passes.machine.target import Target
from hloverlap.passes.machine.topology import Topology
from hloverlap.pipeline.audit.launches import Launch, find_launches, serialized_pairs
from hloverlap.pipeline.prediction import prediction, schedule
from hloverlap.pipeline.xla.hlo_text import parse_module
from hloverlap.pipeline.xla.thunks import parse_thunks

DUMP_OPTIONS = (xla_options.DUMP_TO, xla_options.DUMP_HLO_AS_TEXT)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Says how XLA starts a module's transfers."""

    launches: str
    """How they are started, in words."""
    synchronous: int
    """Synchronous launches."""
    asynchronous: int
    """Asynchronous launches."""
    groups: int
    """Grouped launches."""
    hidden: int
    """Launches with compute beside them."""
    together: int
    """Pairs of launches in flight at once on different streams."""
    one_by_one: int
    """Independent pairs that are not."""
    microseconds: float
    """How long a run takes, by the simulation of hlo-audit."""


def dump_options(folder: pathlib.Path) -> dict[str, str | bool]:
    """Gives the options for XLA to write into `folder` what `predict` reads."""
    return {xla_options.DUMP_TO: str(folder), xla_options.DUMP_HLO_AS_TEXT: True}


def predict(
    folder: pathlib.Path, options: Mapping[str, object], target: Target, topology: Topology
) -> Prediction | None:
    """Reads the dump of one compile; None where XLA wrote no thunks, as XLA:CPU does.

    options: what XLA was told. target, topology: for what the time is predicted.
    """
    sequences = sorted(folder.glob("*.thunk_sequence.txt"), key=lambda path: path.stat().st_size)
    if not sequences:
        return None
    name = sequences[-1].name.removesuffix(".thunk_sequence.txt")  # the largest: autotuning may dump small ones
    scheduled = sorted(folder.glob(f"{name}.*gpu_after_optimizations.txt"))
    if not scheduled:
        return None
    metadata = folder / f"{name}.thunk_metadata.txt"
    thunks = parse_thunks(_text(sequences[-1]), _text(metadata) if metadata.exists() else "")
    hlo = _text(scheduled[0])
    module = parse_module(hlo)
    run = prediction.predict(schedule.read(thunks, module, hlo, options), target.costs, topology)
    return _summary(find_launches(thunks, module), run.time)


def _summary(launches: list[Launch], microseconds: float) -> Prediction:
    return Prediction(
        launches=", ".join(_in_words(launch) for launch in launches[:12]) + (", …" if len(launches) > 12 else ""),
        synchronous=sum(launch.synchronous for launch in launches),
        asynchronous=sum(not launch.synchronous for launch in launches),
        groups=sum(launch.group for launch in launches),
        hidden=sum(launch.hidden for launch in launches),
        together=sum(len(launch.beside) for launch in launches) // 2,
        one_by_one=len(serialized_pairs(launches)),
        microseconds=microseconds,
    )


def _in_words(launch: Launch) -> str:
    """Writes launches as ``2 grouped on 0`` or ``1 on main``."""
    stream = launch.stream.removeprefix("communication_stream[").removesuffix("]")
    return f"{launch.members}{' grouped' if launch.group else ''} on {stream}"


def _text(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
