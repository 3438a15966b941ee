"""Lays out tables for a terminal or a pipe."""

from __future__ import annotations

import dataclasses
import io
import shutil

_IN_A_PIPE = 120  # columns, as the lines of the project's own sources
_DRAWN = 3  # what drawing adds to each column
_LEAST = 16  # characters that are left of a cell, however narrow the terminal is


@dataclasses.dataclass(frozen=True)
class Table:
    """Holds the text of a table."""

    head: list[str]
    """The columns' titles."""
    rows: list[list[str]]
    """As many cells each."""
    elastic: tuple[int, ...] = ()
    """Columns whose cells may be shortened in the middle where the table is too wide, such as names."""


def layout(table: Table, decorated: bool = False) -> str:
    """Lays out the table in aligned columns. decorated: drawn with lines and colours, for a terminal."""
    if decorated:
        columns = shutil.get_terminal_size().columns
        return _rich(_fitted(table, columns - _DRAWN * len(table.head)))
    table = _fitted(table, _IN_A_PIPE - 2 * (len(table.head) - 1))
    widths = _widths(table)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (table.head, *table.rows)
    ]
    return "\n".join(lines)


def _fitted(table: Table, width: int) -> Table:
    """Gives the table with its widest elastic columns shortened until a row's cells fit in `width`, if they can."""
    widths = _widths(table)
    excess = sum(widths) - width
    limits = {column: widths[column] for column in table.elastic}
    while excess > 0 and limits:
        widest = max(limits, key=limits.__getitem__)
        if limits[widest] <= _LEAST:
            break
        limits[widest] -= 1
        excess -= 1
    rows = [[shorten(cell, limits.get(column, len(cell))) for column, cell in enumerate(row)] for row in table.rows]
    return dataclasses.replace(table, rows=rows)


def shorten(text: str, width: int) -> str:
    """Gives the text, without its middle where it is longer than `width`."""
    if len(text) <= width:
        return text
    start = (width - 1) // 2
    return f"{text[:start]}…{text[len(text) - (width - 1 - start) :]}"


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
    natural = sum(_widths(table)) + _DRAWN * len(table.head)  # a narrower terminal wraps lines rather than lose cells
    width = max(natural, shutil.get_terminal_size().columns)
    console = Console(file=buffer, force_terminal=True, highlight=False, markup=False, width=width)
    console.print(drawn)
    return buffer.getvalue().rstrip("\n")
