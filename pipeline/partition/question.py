"""What XLA's partitioner is asked, and what comes back."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

from hloverlap.pipeline.xla.isolated_compile import Failure


@dataclasses.dataclass(frozen=True)
class Question:
    """A module to partition, and for what."""

    module: bytes
    """MLIR bytecode."""
    backend: str
    """Whose partitioner is asked: ``gpu`` or ``cpu``."""
    target_config: str
    """A GpuTargetConfigProto in text form; "" asks the GPU that is there, and for CPUs."""
    partitions: int
    """The number of devices."""
    shardy: bool
    """Whether the module's shardings are Shardy's."""
    open_arguments: tuple[bool, ...]
    """For each argument whether XLA may choose its sharding, as jit lets it where the program has none."""
    open_results: tuple[bool, ...]
    """The same for each result."""


@dataclasses.dataclass(frozen=True)
class TiledSharding:
    """A sharding as HLO has it, for one array."""

    tiles: tuple[int, ...]
    """Into how many parts each dimension is divided; () for what every device holds whole."""
    devices: tuple[int, ...] = ()
    """Partition numbers: the tiles row by row, and of each tile all devices that hold it; () for a whole one."""


@dataclasses.dataclass(frozen=True)
class Partitioned:
    """The program of one device."""

    module: bytes
    """MLIR bytecode."""
    arguments: tuple[TiledSharding | None, ...]
    """How XLA divided each argument; None for a sharding of another kind."""
    results: tuple[TiledSharding | None, ...]
    """How XLA divides each result."""


Answer: TypeAlias = Partitioned | Failure
