"""Checks source-target pairs that cannot be meant (VCL005 to VCL008), and modules that say too little (VCL018)."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from hloverlap.passes.analysis.collectives import KINDS, PERMUTE, mode_of, pairs_of
from hloverlap.passes.analysis.required_devices import shortage
from hloverlap.passes.context import Context
from hloverlap.passes.machine.topology import Pair
from hloverlap.passes.mlir.meshes import MeshError
from hloverlap.passes.mlir.modules import device_counts
from hloverlap.passes.mlir.symbols import Symbols
from hloverlap.passes.mlir.walk import ops_in


def check(module: ir.Operation, symbols: Symbols, context: Context) -> None:
    """Looks at the pairs of every permute."""
    counts = device_counts(module)
    if lacking := _lacking(module):
        context.remark("VCL018", lacking, ops_in(module, *KINDS)[0], "warning")
    for op in ops_in(module, PERMUTE):
        mode = mode_of(op)
        _pairs(op, pairs_of(op), mode, counts.ids(mode), context)


def _lacking(module: ir.Operation) -> str:
    try:
        return shortage(module)
    except MeshError as error:
        return f"Its replica groups cannot be read: {error}."


def _pairs(op: ir.Operation, pairs: Sequence[Pair], mode: str, count: int | None, context: Context) -> None:
    ids = sorted({number for pair in pairs for number in pair})
    if twice := _twice([source for source, _ in pairs]) or _twice([target for _, target in pairs]):
        context.remark("VCL005", f"{mode} {twice[0]} is there twice among the sources or the targets.", op, "error")
        return
    if count is not None and any(not 0 <= number < count for number in ids):
        wrong = next(number for number in ids if not 0 <= number < count)
        text = f"Its pairs name {mode} {wrong}, and the module is for {count}: XLA refuses them or leaves them out."
        context.remark("VCL005", text, op, "error")
        return
    if pairs and all(source == target for source, target in pairs):
        rest = "" if len(pairs) == count else f", and makes zeros of what the other {mode}s have"
        context.remark("VCL006", f"It sends nothing: every {mode} named sends to itself{rest}.", op)
        return
    cycles = _cycles(pairs)
    if cycles == 1 and len(pairs) == len(ids) and ids == list(range(len(ids))) and count and count % len(ids) == 0:
        if len(ids) < count:
            context.remark(
                "VCL007",
                f"Its pairs are a ring of {mode}s 0 to {len(ids) - 1}, as if there were {len(ids)} and not {count}: "
                f"the others get zeros. Were they made for another number of {mode}s?",
                op,
                "warning",
            )
    elif cycles > 1:
        context.remark(
            "VCL008",
            f"Its pairs are {cycles} separate cycles: where XLA's collective-permute-cycle-decomposer is on, all but "
            "one of the devices that close a cycle get zeros (openxla/xla#45222).",
            op,
            "warning",
        )


def _twice(numbers: Sequence[int]) -> list[int]:
    seen: set[int] = set()
    return [number for number in numbers if number in seen or seen.add(number)]  # type: ignore[func-returns-value]


def _cycles(pairs: Sequence[Pair]) -> int:
    """Counts the cycles of at least two devices that the pairs hold."""
    following = {source: target for source, target in pairs if source != target}
    found = 0
    seen: set[int] = set()
    for start in following:
        here, path = start, set[int]()
        while here in following and here not in seen:
            seen.add(here)
            path.add(here)
            here = following[here]
        found += here in path
    return found
