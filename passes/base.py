"""Defines what a pass is: a frozen dataclass whose fields are its options.

    @dataclasses.dataclass(frozen=True)
    class CountPermutes(Pass):
        name = "count-permutes"
        summary = "Counts the permutes."
        limit: int = option(8, "stop counting here")

        def run(self, op, context): ...

From the fields come the textual form ``count-permutes{limit=3}``, the help of ``--list-passes`` and the docs.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Mapping
from typing import Any, ClassVar

from jaxlib.mlir import ir

from hloverlap.passes.context import Context
from hloverlap.passes.quoting import quoted


def option(default: Any, help: str) -> Any:
    """Makes a field of a pass that the user may set: int, bool, str, or a Literal of the allowed words."""
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True)
class Option:
    """Describes one option as text sees it."""

    name: str
    """Spelled with dashes."""
    field: str
    """The name of the dataclass field."""
    type: type
    """``int``, ``bool`` or ``str``."""
    choices: tuple[str, ...]
    """The allowed words when the field is a Literal, else ()."""
    default: Any
    help: str

    def parse(self, text: str) -> Any:
        """Reads the value that `text` spells; ValueError says what would be valid."""
        if self.choices:
            if text in self.choices:
                return text
            raise ValueError(f"'{text}' is not one of {', '.join(self.choices)}")
        if self.type is bool:
            if text.lower() in ("true", "1", ""):
                return True
            if text.lower() in ("false", "0"):
                return False
            raise ValueError(f"'{text}' is neither true nor false")
        if self.type is int:
            try:
                return int(text)
            except ValueError:
                raise ValueError(f"'{text}' is not an integer") from None
        return text

    def format(self, value: Any) -> str:
        """Spells `value` as a pipeline does."""
        return quoted(str(value).lower() if isinstance(value, bool) else str(value))

    @property
    def type_name(self) -> str:
        """Gives the type as help shows it."""
        return "|".join(self.choices) or self.type.__name__


@dataclasses.dataclass(frozen=True)
class Pass:
    """Says what a pass has. Its `run` must keep the rules in the README: deterministic, idempotent, never worse."""

    name: ClassVar[str]
    """As written in a pipeline."""

    summary: ClassVar[str]
    """One sentence."""

    example: ClassVar[str] = ""
    """IR before and after, for people."""

    statistics: ClassVar[Mapping[str, str]] = {}
    """The name of each statistic, and what it counts."""

    remarks: ClassVar[Mapping[str, str]] = {}
    """The code of each remark that it can make, and what that says. A pass that declares some makes no others."""

    anchor: ClassVar[str] = "builtin.module"
    """The name of the op that it runs on."""

    def run(self, op: ir.Operation, context: Context) -> None:
        """Rewrites `op` in place. Raises PassError where the request cannot be met."""
        raise NotImplementedError

    @classmethod
    @functools.cache  # reading type hints takes a millisecond
    def options(cls) -> tuple[Option, ...]:
        """Lists the options in the order of the fields."""
        hints = typing.get_type_hints(cls)
        found = []
        for field in dataclasses.fields(cls):
            hint = hints[field.name]
            choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
            found.append(
                Option(
                    name=field.name.replace("_", "-"),
                    field=field.name,
                    type=str if choices else hint,
                    choices=choices,
                    default=field.default,
                    help=field.metadata["help"],
                )
            )
        return tuple(found)

    def __str__(self) -> str:
        """Writes the textual form, with the options that differ from their default."""
        spelled = " ".join(
            f"{option.name}={option.format(getattr(self, option.field))}"
            for option in self.options()
            if getattr(self, option.field) != option.default
        )
        return f"{self.name}{{{spelled}}}" if spelled else self.name

    def count(self, context: Context, statistic: str, amount: int = 1) -> None:
        """Adds to one of this pass's statistics."""
        assert statistic in self.statistics, f"{self.name} has no statistic {statistic}"
        context.count(self.name, statistic, amount)
