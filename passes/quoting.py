"""Writes the value of an option in pipeline text, and reads it.

The marks are MLIR's: what stands in quotes, or in braces that close, is one value. A value that has both kinds of quote
stands in single quotes, with its own single quotes doubled: MLIR's reader takes the two halves for one value, too.
"""

from __future__ import annotations

_QUOTES = "'\""


def quoted(value: str) -> str:
    """Writes a value, so that `unquoted` of it is the value again."""
    if value and not any(character.isspace() or character in "{}=,'\"" for character in value):
        return value
    if value.startswith("{") and closing_brace(value, 0) == len(value) - 1:
        return value  # one group, such as {a,b}
    quote = '"' if "'" in value and '"' not in value else "'"
    return f"{quote}{value.replace(quote, 2 * quote)}{quote}"


def unquoted(text: str) -> str:
    """Reads what stands for a value."""
    quote = text[:1]
    if len(text) > 1 and quote in _QUOTES and text.endswith(quote):
        return text[1:-1].replace(2 * quote, quote)
    return text


def closing_brace(text: str, start: int) -> int:
    """Finds the brace that closes the one at `start`, -1 when none does. Quoted text is passed over."""
    depth, quote = 0, ""
    for offset in range(start, len(text)):
        character = text[offset]
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return offset
    return -1
