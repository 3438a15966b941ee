"""What MLIR says while it parses, verifies and runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from hloverlap.passes.mlir.locations import source_of


@dataclass(frozen=True)
class Diagnostic:
    """One message. severity: error, warning, note or remark; file "-" is the input's own text, "" is nowhere."""

    severity: str
    message: str
    file: str = ""
    line: int = 0

    @property
    def headline(self) -> str:
        """The message's first line; what follows is IR."""
        return self.message.strip().split("\n", 1)[0]

    def text(self, name: str) -> str:
        """``file:line: severity: headline``; `name` is what the input is called."""
        return f"{place(self.file, self.line, name)}: {self.severity}: {self.headline}"


def place(file: str, line: int, name: str) -> str:
    """``file:line`` as editors take it; `name` stands for the input's own text."""
    file = name if file in ("", "-") else file
    return f"{file}:{line}" if line else file


@contextlib.contextmanager
def collected(context: ir.Context, found: list[Diagnostic]) -> Iterator[None]:
    """Appends to `found` every diagnostic of `context` inside the block, notes after what they belong to."""

    def take(diagnostic: ir.Diagnostic) -> bool:
        for each in (diagnostic, *diagnostic.notes):
            file, line = source_of(each.location)
            found.append(Diagnostic(each.severity.name.lower(), each.message, file, line))
        return True

    # Otherwise the bindings keep errors for the exception that they raise, and they lose their order among the rest.
    before, context.emit_error_diagnostics = context.emit_error_diagnostics, True
    handler: Any = context.attach_diagnostic_handler(take)
    try:
        yield
    finally:
        handler.detach()
        context.emit_error_diagnostics = before
