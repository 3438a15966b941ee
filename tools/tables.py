"""Lays out tables for a terminal or a pipe."""

from __future__ import annotations

import dataclasses
import io
import shutil


@dataclasses.dataclass(frozen=True)
class Table:
    """Holds the text of a table."""

    head: list[str]
    """The columns' titles."""
    rows: list[list[str]]
    """As many cells each."""


def layout(table: Table, decorated: bool = False) -> str:
    """Lays out the table in aligned columns. decorated: drawn with lines and colours, for a terminal."""
    if decorated:
        return _rich(table)
    widths = _widths(table)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (table.head, *table.rows)
    ]
    return "\n".join(lines)


def _widths(table: Table) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(table.head, *table.rows, strict=True)]


def _rich(table: Table) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn

    drawn = Drawn(*table.head, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in table.rows:
        drawn.add_row(*row)
    buffer = io.StringIO()
    natural = sum(_widths(table)) + 3 * len(table.head)  # a narrower terminal wraps lines rather than lose cells
    width = max(natural, shutil.get_terminal_size().columns)
    console = Console(file=buffer, force_terminal=True, highlight=False, markup=False, width=width)
    console.print(drawn)
    return buffer.getvalue().rstrip("\n")
