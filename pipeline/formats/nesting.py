"""Finds MLIR text that is nested too deeply: MLIR's parser recurses, and ends the process when the stack does."""

from __future__ import annotations

import re

DEEPEST = 500  # levels; the stack takes about 1500 of regions, and real modules stay below 50

_OPEN, _CLOSE = b"([{<", b")]}>"
_NO_BRACKETS = bytes(set(range(256)) - set(_OPEN + _CLOSE))
_STRINGS_AND_COMMENTS = re.compile(rb'"(?:[^"\\\n]|\\.)*+"|//[^\n]*+')
_TOO_MANY = re.compile(rb"[(\[{<]{%d}" % DEEPEST)
_ROUNDS = 64


def too_deep(text: bytes) -> bool:
    """Says whether brackets of any kind are open in more than about `DEEPEST` levels at one place.

    Brackets in strings count at first, because looking for strings takes longer than everything else here.
    """
    return _nests(text) and _nests(_STRINGS_AND_COMMENTS.sub(b"", text))


def _nests(text: bytes) -> bool:
    brackets = text.replace(b"->", b"").translate(None, delete=_NO_BRACKETS)
    # Taking out the innermost pairs again and again leaves what is nested deeper than that, all in a row.
    before, rounds = len(brackets) + 1, _ROUNDS
    while rounds and DEEPEST <= len(brackets) < before:
        before, rounds = len(brackets), rounds - 1
        for open, close in zip(_OPEN, _CLOSE, strict=True):
            brackets = brackets.replace(bytes((open, close)), b"")
    return _TOO_MANY.search(brackets) is not None
