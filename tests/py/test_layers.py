"""Imports run one way: every room may import those below it and nothing above, as docs/architecture.md says."""

from __future__ import annotations

import ast
import graphlib
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# The rooms from the ground up; those of one tuple may not import each other.
FLOORS = (
    ("passes/quoting", "passes/remark"),
    ("passes/errors",),
    ("passes/mlir",),
    ("passes/machine",),
    ("passes/analysis",),
    ("passes/building",),
    ("passes/context",),
    ("passes/base",),
    ("passes/merging", "passes/checks"),
    ("passes",),
    ("pipeline/jax_internals",),
    ("pipeline/children",),
    ("pipeline/formats", "pipeline/messages"),
    ("pipeline/execution", "pipeline/xla"),
    ("pipeline/prediction",),
    ("pipeline/equivalence", "pipeline/audit"),
    ("pipeline/jax_jit",),
    ("pipeline/transfers",),
    ("pipeline",),
    ("tools",),
)
HEIGHT = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
FILES = {
    path.relative_to(REPOSITORY).with_suffix("").as_posix(): path
    for folder in ("passes", "pipeline", "tools")
    for path in sorted((REPOSITORY / folder).rglob("*.py"))
}


def room_of(name: str) -> str:
    """Gives the room that a file is in: the longest entry of FLOORS that its path begins with."""
    return max((room for room in HEIGHT if f"{name}/".startswith(f"{room}/")), key=len)


def imports_of(path: pathlib.Path) -> set[str]:
    """Lists the files of this project that a file imports anywhere in it, but for type checkers."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            file = name.removeprefix("hloverlap.").replace(".", "/")
            if name.startswith("hloverlap.") and file in FILES:
                found.add(file)
        waiting += ast.iter_child_nodes(node)
    return found


IMPORTS = {name: imports_of(path) for name, path in FILES.items()}


@pytest.mark.parametrize("name", FILES)
def test_no_import_goes_up(name: str) -> None:
    room = room_of(name)
    others = {other for other in IMPORTS[name] if room_of(other) != room}
    assert {other for other in others if HEIGHT[room_of(other)] >= HEIGHT[room]} == set()


def test_there_is_no_circle() -> None:
    assert list(graphlib.TopologicalSorter(IMPORTS).static_order())


def test_every_room_is_on_the_map() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {name.rpartition("/")[0] for name in FILES}
    assert {
        room for room in rooms if room.count("/") == 1 and f"`{room}/`" not in page and "tools/" not in room
    } == set()
