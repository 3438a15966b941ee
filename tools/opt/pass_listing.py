"""Shows what --list-passes shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from hloverlap.passes import registry
from hloverlap.passes.base import Pass
from hloverlap.pipeline.execution.mlir_passes import KNOWN


def show() -> None:
    """Prints all passes: with tables on a terminal, as plain text elsewhere."""
    if sys.stdout.isatty():
        _show_tables()
    else:
        print(plain())


def plain() -> str:
    """Writes all passes as text."""
    lines: list[str] = []
    for name, found in _passes():
        lines += [name, f"  {found if isinstance(found, str) else found.summary}"]
        if isinstance(found, str):
            lines.append("")
            continue
        for title, rows in _sections(found):
            width = max(len(left) for left, _ in rows)
            lines += [f"  {title}:", *(f"    {left:<{width}}  {right}" for left, right in rows)]
        if found.example:
            lines += ["  example:", *(f"    {line}".rstrip() for line in found.example.strip("\n").split("\n"))]
        lines.append("")
    lines.append("named pipelines")
    lines += [f"  {name}  {stands_for}" for name, stands_for in registry.PIPELINES.items()]
    lines += ["", "passes of MLIR (and any other that it has registered)", *(f"  {name}" for name in KNOWN)]
    return "\n".join(lines)


def _passes() -> Iterator[tuple[str, type[Pass] | str]]:
    """Gives each name with its pass, or with the reason why a package's pass cannot be loaded."""
    for name in registry.names():
        try:
            found = registry.find(name)
        except Exception as error:  # a package's code may raise anything
            yield name, f"cannot be loaded: {type(error).__name__}: {error}"
        else:
            assert found is not None
            yield name, found


def _sections(found: type[Pass]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Gives the parts of a pass that are rows of a name and a text."""
    options = [
        (f"{option.name}=<{option.type_name}>", f"{option.help} [{option.format(option.default)}]")
        for option in found.options()
    ]
    sections = [("options", options), ("statistics", list(found.statistics.items()))]
    sections.append(("remarks", list(found.remarks.items())))
    return [(title, rows) for title, rows in sections if rows]


def _show_tables() -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for name, found in _passes():
        if isinstance(found, str):
            console.print(Text(name, style="bold"), Text(found, style="red"), sep="  ")
            continue
        console.print(Text(name, style="bold"), Text(found.summary), sep="  ")
        for title, rows in _sections(found):
            table = Table(title, "", box=box.SIMPLE_HEAD, pad_edge=False)
            for left, right in rows:
                table.add_row(Text(left, style="cyan"), Text(right))
            console.print(table)
        if found.example:
            console.print(Text(found.example.strip("\n"), style="dim"), "")
    for name, stands_for in registry.PIPELINES.items():
        console.print(Text(name, style="bold"), Text(f"named pipeline: {stands_for}"), sep="  ")
    console.print(Text("\npasses of MLIR: " + ", ".join(KNOWN)))
