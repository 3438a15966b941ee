"""Finds, in sources, the names of jax and jaxlib that begin with an underscore or lie behind one that does."""

from __future__ import annotations

import ast
from collections.abc import Iterator

ROOTS = ("jax", "jaxlib")


def private_names(source: str) -> set[str]:
    """Gives the full names of private modules and of what is taken from them, as ``jax._src.pjit.jit_p``.

    Of a name that is used through an import only the longest form is given.
    """
    tree = ast.parse(source)
    names = _imported(tree)
    dotted = {name for node in ast.walk(tree) if (name := _dotted(node, names))} | set(names.values())
    private = {name for name in dotted if name.split(".")[0] in ROOTS and any(map(_is_private, name.split(".")))}
    return {name for name in private if not any(other.startswith(f"{name}.") for other in private)}


def private_attributes(source: str) -> set[str]:
    """Gives the attributes that begin with an underscore and that nothing in this source defines."""
    tree = ast.parse(source)
    own = set(_own(tree))
    names = _imported(tree)
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own
        if not _dotted(node, names)
    }


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_")  # nor Python's own, as __name__ and _value_ of an enum


def _imported(tree: ast.AST) -> dict[str, str]:
    """Says what each name that an import binds, anywhere in the source, stands for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
                if not alias.asname:
                    found[alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """Spells out an expression like ``pjit.jit_p``, with the full name of what is imported; "" for any other."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (base := _dotted(node.value, names)):
        return f"{base}.{node.attr}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
        match node.args:
            case [value, ast.Constant(str(attribute)), *_] if base := _dotted(value, names):
                return f"{base}.{attribute}"
    return ""


def _own(tree: ast.AST) -> Iterator[str]:
    """Gives the private names that this source itself defines: of methods, fields, and attributes of self and cls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            for target in [node.target] if isinstance(node, ast.AnnAssign) else node.targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        yield part.id
                    elif isinstance(part, ast.Attribute) and ast.unparse(part.value) in ("self", "cls"):
                        yield part.attr
