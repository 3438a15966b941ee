"""Parses the arguments of the commands that have ordinary flags; hlo-opt, where order matters, has its own way."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from hloverlap.tools import versions
from hloverlap.tools.main import UsageError


class Parser(argparse.ArgumentParser):
    """Parses as argparse does, but leaves text as it is, has ``--version``, abbreviates no flags, and raises errors."""

    def __init__(self, name: str, description: str, epilog: str, usage: str | None = None) -> None:
        """Makes the parser of the command `name`; `epilog` ends its help."""
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(
            name, usage, description=description, epilog=epilog, formatter_class=layout, allow_abbrev=False
        )
        self.add_argument("--version", action=_Version, nargs=0, help="show the versions of hloverlap, jaxlib, Python")

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise UsageError(message)

    def print_help(self, file: Any = None) -> None:
        """Prints the help, and raises OSError where that cannot be written: argparse's own says nothing then."""
        print(self.format_help(), end="", file=file, flush=True)


class _Version(argparse.Action):
    """Asks for the versions when the flag is there: reading them takes a while."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(versions.text(), flush=True)
        parser.exit()
