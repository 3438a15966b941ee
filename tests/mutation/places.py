"""Where a planted bug belongs: the function of its name that holds its text, in whatever file that is now."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from planted import Planted


class LostError(Exception):
    """A bug has no place, or several; the text says which and why."""


class Mutant(NamedTuple):
    """A file, relative to the repository, and the source with the bug."""

    file: str
    source: str


def plant(bug: Planted, repository: pathlib.Path) -> Mutant:
    """Puts the bug into the one function of its name under passes/ that holds its text. Raises LostError."""
    pattern = re.compile(r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", bug.old)))
    functions = 0
    found: list[Mutant] = []
    for path in sorted((repository / "passes").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for name, start, end in _definitions(source):
            if name != bug.function:
                continue
            functions += 1
            for match in pattern.finditer(source, start, end):
                changed = source[: match.start()] + bug.new + source[match.end() :]
                found.append(Mutant(str(path.relative_to(repository)), changed))
    if not functions:
        raise LostError(f"no function of passes/ is called {bug.function}")
    if len(found) != 1:
        raise LostError(f"{bug.function} holds this text {len(found)} times and not once: {bug.old}")
    ast.parse(found[0].source)
    return found[0]


def _definitions(source: str) -> Iterator[tuple[str, int, int]]:
    """The qualified name of each function, class and constant, and where its text begins and ends."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def named(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    yield prefix + name, child
                    yield from named(child, f"{prefix}{name}.")
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    if not isinstance(node, ast.FunctionDef):
                        yield prefix + name, child
                case _:
                    yield from named(child, prefix)

    for name, statement in named(ast.parse(source), ""):
        assert statement.end_lineno is not None
        yield name, lines[statement.lineno - 1], lines[statement.end_lineno]
