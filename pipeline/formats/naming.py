"""Finds names that are no UTF-8: MLIR allows them, but its Python bindings abort the process that looks at one.

Values of string attributes may hold any bytes, and often do.
"""

from __future__ import annotations

import io
import re

from jaxlib.mlir import ir

_HIGH = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]")  # how MLIR prints a byte that is not ASCII
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")


def may_be_undecodable(text: bytes) -> bool:
    """Says whether MLIR text in UTF-8 spells any bytes with their numbers, so that it is worth a closer look."""
    return _HIGH.search(text) is not None


def undecodable(module: ir.Module) -> str:
    """Finds the first name of an attribute, symbol, file or place that is no UTF-8, as MLIR prints it; "" for none."""
    printed = io.BytesIO()
    module.operation.print(
        file=printed, binary=True, enable_debug_info=True, print_generic_op_form=True, large_elements_limit=4
    )
    text = printed.getvalue()
    if not may_be_undecodable(text):
        return ""
    for line in text.splitlines():
        if not may_be_undecodable(line):
            continue
        for match in _STRING.finditer(line):
            names_something = (
                line[match.end() : match.end() + 2] == b" ="
                or line[: match.start()].endswith((b"@", b"sym_name = ", b"call_target_name = "))
                or b"loc" in line[: match.start()]
            )
            if names_something and not _decodes(match[0]):
                return match[0].decode("ascii", "replace")
    return ""


def _decodes(literal: bytes) -> bool:
    try:
        _ESCAPE.sub(_byte, literal).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 16)]) if len(match[1]) == 2 else match[1]
