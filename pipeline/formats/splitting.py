"""Splits one text into several modules, as mlir-opt's --split-input-file does."""

from __future__ import annotations

import re

MARKER = "// -----"
_MARKER_LINE = re.compile(rf"^{MARKER}[ \t]*\r?\n?", re.MULTILINE)


def split(text: str) -> list[str]:
    """Gives the parts between marker lines; blank ones are dropped.

    Each part starts with as many line ends as stand before it, so that its line numbers are those of the whole.
    """
    parts, start = [], 0
    for match in [*_MARKER_LINE.finditer(text), None]:
        end = match.start() if match else len(text)
        if text[start:end].strip():
            parts.append("\n" * text.count("\n", 0, start) + text[start:end])
        start = match.end() if match else end
    return parts
