"""Small changes that can be made anywhere: another comparison, a number off by one, a test turned round."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_CALLS = {"sorted": "list", "min": "max", "max": "min", "any": "all", "all": "any"}


def mutants(source: str, generator: random.Random, count: int) -> list[tuple[str, str]]:
    """Up to `count` changed sources, each with what was changed where, chosen by `generator`."""
    tree = ast.parse(source)
    sites = list(_sites(tree))
    chosen = sorted(generator.sample(range(len(sites)), min(count, len(sites))))
    made = []
    for number in chosen:
        changed = copy.deepcopy(tree)
        node, what = list(_sites(changed))[number]
        line = getattr(node, "lineno", 0)
        before = ast.unparse(node)
        _change(node)
        made.append((ast.unparse(changed), f"line {line}: {what}: {before}"))
    return made


def _sites(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What can be changed, in order; not in docstrings, annotations or the options of a pass."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                match node:
                    case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                        yield node, "another comparison"
                    case ast.BoolOp():
                        yield node, "and for or, or for and"
                    case ast.UnaryOp(op=ast.Not()):
                        yield node, "a test turned round"
                    case ast.Call(func=ast.Name(id=name)) if name in _CALLS and len(node.args) == 1:
                        yield node, f"{_CALLS[name]} for {name}"
                    case ast.BinOp(op=ast.Add() | ast.Sub()):
                        yield node, "minus for plus, or plus for minus"


def _change(node: ast.AST) -> None:
    match node:
        case ast.Compare():
            node.ops = [_COMPARISONS[type(node.ops[0])]()]
        case ast.BoolOp():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp():
            node.op = ast.Not()
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Call(func=ast.Name()):
            node.func.id = _CALLS[node.func.id]  # type: ignore[attr-defined]
        case ast.BinOp():
            node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
