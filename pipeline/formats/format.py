"""Says what every format of a module can do: be recognised, read, written, and explained where it cannot be read."""

from __future__ import annotations

import abc
import dataclasses
from typing import ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.mlir.modules import entry_function
from hloverlap.pipeline.formats.errors import ReadError


@dataclasses.dataclass(frozen=True)
class Style:
    """Says how a module is spelled; formats that have no choice pay no heed."""

    debuginfo: bool = False
    """Whether text carries locations; the other formats always do."""

    elide_larger_than: int | None = None
    """Constants of more elements than this are left out of MLIR text; None: all are whole."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Holds a module as it came in."""

    module: ir.Module
    """StableHLO, in the context given, free to be changed."""

    format: Format

    name: str
    """The name of the file, for messages."""

    original: bytes
    """What came in. Writing takes from it the version of a portable artifact, and all but the module of an export."""

    signature: str = ""
    """The type of @main when it came in, "" without one; what surrounds an exported module relies on it."""


class Format(abc.ABC):
    """One way to write a module. Objects have no state: there is one of each, in `table`."""

    name: ClassVar[str]
    """What messages call it, e.g. ``MLIR text``."""

    needs_whole_constants: ClassVar[bool] = True
    """Whether a module with elided constants cannot be written in it."""

    keeps_stablehlo: ClassVar[bool] = True
    """Whether it says all that StableHLO says, so that what came in this way goes out this way by default."""

    @abc.abstractmethod
    def sniff(self, data: bytes) -> bool:
        """Says whether `data` begins as this format does; further in it may be damaged, or end too early."""

    @abc.abstractmethod
    def read(self, data: bytes, name: str, context: ir.Context) -> ir.Module:
        """Reads a module into `context`. Raises ReadError; MLIR prints nothing."""

    @abc.abstractmethod
    def write(self, module: ir.Module, source: Source, style: Style) -> bytes:
        """Writes what became of `source`, and does not change it. Raises WriteError."""

    @abc.abstractmethod
    def explain(self, error: Exception, data: bytes, name: str) -> ReadError:
        """Turns what MLIR, XLA or Python says about `data` into one line for the user."""


def signature_of(module: ir.Module) -> str:
    """Gives the type of @main, without attributes; "" when there is none."""
    main = entry_function(module)
    return "" if main is None else str(main.attributes["function_type"])
