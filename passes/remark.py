"""Defines one message about a module: what a pass, MLIR or an audit has to say."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Remark:
    """What a pass, MLIR or an audit says about one op of a module."""

    code: str
    """Stable, e.g. ``ACS001``; the letters name the pass or the command. What MLIR itself says has none: ""."""
    severity: str
    """``error``, ``warning``, ``remark`` (done or declined) or ``note`` (to what was said before)."""
    message: str
    """One sentence. MLIR may let IR follow, on lines of its own."""
    op: str = ""
    """The name of the op it is about; "" for the module, and where MLIR does not tell."""
    file: str = ""
    """Where the user wrote the op: the file of the JAX source if the module carries it, else "-", which is the module's
    own text; "" when nothing is known."""
    line: int = 0
    """The line in `file`, from 1; 0 when nothing is known."""

    @property
    def headline(self) -> str:
        """Gives the first line of the message."""
        return self.message.strip().split("\n", 1)[0]

    def place(self, name: str) -> str:
        """Says where the op is, as `place` spells it."""
        return place(self.file, self.line, name)


def place(file: str, line: int, name: str) -> str:
    """Spells ``file:line`` as editors take it; `name` stands for the module's own text."""
    file = file_name(file, name)
    return f"{file}:{line}" if line else file


def file_name(file: str, name: str) -> str:
    """Gives the file, or `name` where it is the module's own text or unknown."""
    return name if file in ("", "-") else file
