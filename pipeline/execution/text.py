"""Reads pipeline text as a tree, every part with its place in the text.

    builtin.module(canonicalize{top-down=false}, func.func(cse), overlap)

The grammar is MLIR's: elements are separated by commas; an element is a pass with options in braces, or an operation
name with elements in parentheses. Names are not looked up here: `resolution` does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from hloverlap.passes.errors import PipelineTextError
from hloverlap.passes.quoting import closing_brace, quoted, unquoted

ROOT = "builtin.module"
_NAME = re.compile(r"[A-Za-z_][\w.$-]*")
_SPACE = re.compile(r"\s*")
_KEY = re.compile(r"[^\s={}'\"]+")


@dataclass(frozen=True)
class OptionNode:
    """One option, ``name=value`` or ``name`` alone."""

    name: str
    value: str | None
    """None where the name stands alone."""
    position: int
    """The offset of the name in the pipeline text."""
    value_position: int
    """The offset of the value in the pipeline text."""

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={quoted(self.value)}"


@dataclass(frozen=True)
class PassNode:
    """A pass (or named pipeline) and its options."""

    name: str
    position: int
    options: tuple[OptionNode, ...] = ()
    raw_options: str = ""
    """The text between the braces, as written."""


@dataclass(frozen=True)
class AnchorNode:
    """An operation name and what runs on each such operation."""

    name: str
    position: int
    children: tuple[PassNode | AnchorNode, ...] = ()


def parse(text: str) -> AnchorNode:
    """Reads the tree of `text`, rooted at ``builtin.module``; a bare list of elements is taken to stand inside one.

    Raises PipelineTextError.
    """
    reader = _Reader(text)
    try:
        children = tuple(reader.elements(closing=""))
    except RecursionError:
        raise PipelineTextError("operations are nested too deep", text, 0) from None
    if len(children) == 1 and isinstance(children[0], AnchorNode) and children[0].name in (ROOT, "any"):
        return AnchorNode(ROOT, children[0].position, children[0].children)
    return AnchorNode(ROOT, 0, children)


def element(name: str, options: str) -> str:
    """Writes the text of one pass; options may be empty."""
    return f"{name}{{{options}}}" if options else name


class _Reader:
    """Reads the text by recursive descent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def elements(self, closing: str) -> Iterator[PassNode | AnchorNode]:
        """Reads the elements up to and including `closing`, or up to the end of the text."""
        opened = self.at - 1
        self._skip()
        if not self._take(closing):
            while True:
                yield self._element(opened)
                self._skip()
                if self._take(closing):
                    break
                if not closing and self._take(")"):
                    raise PipelineTextError("this ')' closes nothing", self.text, self.at - 1)
                if not self._take(","):
                    self._fail(f"expected ',' or '{closing}'" if closing else "expected ','", opened)
                self._skip()

    def _element(self, opened: int) -> PassNode | AnchorNode:
        start = self.at
        match = _NAME.match(self.text, start)
        if match is None:
            self._fail("expected the name of a pass or operation", opened)
        self.at = match.end()
        name = match[0]
        self._skip()
        if self._take("("):
            return AnchorNode(name, start, tuple(self.elements(closing=")")))
        if self.text[self.at : self.at + 1] == "{":
            end = closing_brace(self.text, self.at)
            if end < 0:
                raise PipelineTextError("this '{' is never closed", self.text, self.at)
            first, self.at = self.at + 1, end + 1
            return PassNode(name, start, tuple(self._options(first, end)), self.text[first:end].strip())
        return PassNode(name, start)

    def _options(self, at: int, end: int) -> Iterator[OptionNode]:
        """Reads the options between two offsets."""
        while (at := self._space_end(at)) < end:
            match = _KEY.match(self.text, at, end)
            if match is None:
                raise PipelineTextError("expected the name of an option", self.text, at)
            position, at = at, match.end()
            if self.text[at] != "=":
                yield OptionNode(match[0], None, position, position)
                continue
            value_at, at = at + 1, self._value_end(at + 1, end)
            value = self.text[value_at:at]
            yield OptionNode(match[0], unquoted(value), position, value_at)

    def _value_end(self, at: int, end: int) -> int:
        while at < end and not self.text[at].isspace():
            if self.text[at] in "'\"":
                closed = self.text.find(self.text[at], at + 1, end)
                if closed < 0:
                    raise PipelineTextError("this quote is never closed", self.text, at)
                at = closed
            elif self.text[at] == "{":
                at = closing_brace(self.text, at)  # there is one: the braces around the options are balanced
            at += 1
        return at

    def _space_end(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        return match.end()

    def _skip(self) -> None:
        self.at = self._space_end(self.at)

    def _take(self, token: str) -> bool:
        """Moves past `token`; the empty token stands for the end of the text."""
        if not token:
            return self.at == len(self.text)
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _fail(self, message: str, opened: int) -> NoReturn:
        """Raises the error: at the end of the text the opening bracket is what is wrong, else the character here."""
        if self.at == len(self.text) and opened >= 0 and self.text[opened] == "(":
            raise PipelineTextError("this '(' is never closed", self.text, opened)
        raise PipelineTextError(message, self.text, self.at)
