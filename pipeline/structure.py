"""Whether two modules send the same data over the wire, without running them.

Much weaker than running: it counts bytes by kind, devices and place, and knows nothing of which bytes. A transfer in a
called function counts where the call stands, so that outlining several into a group changes nothing.
"""

from __future__ import annotations

import math
from collections import Counter

from jaxlib.mlir import ir

from hloverlap.passes.analysis.symbols import Symbols

Wire = Counter[tuple[str, str, str]]  # (place, kind, devices) -> bytes in one execution of the place

_PERMUTE = "stablehlo.collective_permute"
_GROUPED = (
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.reduce_scatter",
)


def first_difference(before: ir.Module, after: ir.Module) -> str:
    """A clause about the first place where the modules send different data, or ""."""
    one, other = wire(before), wire(after)
    for key in sorted(one.keys() | other.keys()):
        if one[key] != other[key]:
            place, kind, devices = key
            return f"{kind} over {devices} in {place} is {one[key]} bytes in the original and {other[key]} now"
    return ""


def wire(module: ir.Module) -> Wire:
    """What ``main`` sends, where. Identity pairs send nothing; equal permutes of one value count once."""
    symbols = Symbols(module.operation)
    known: dict[str, Wire] = {}

    def of_function(name: str) -> Wire:
        if name not in known:
            known[name] = Counter()  # StableHLO forbids recursion; a broken module must not hang
            if name in symbols.functions:
                known[name] = of_region(symbols.functions[name].regions[0])
        return known[name]

    def of_region(region: ir.Region) -> Wire:
        total: Wire = Counter()
        seen: set[tuple[ir.Value, str]] = set()
        for block in region:
            for op in block:
                total.update(of_op(op.operation, seen))
        return total

    def of_op(op: ir.Operation, seen: set[tuple[ir.Value, str]]) -> Wire:
        if op.name == _PERMUTE:
            pairs = _pairs(op)
            if not pairs or (op.operands[0], pairs) in seen:
                return Counter()
            seen.add((op.operands[0], pairs))
            return Counter({("main", op.name, pairs): _bytes(op.operands[0].type)})
        if op.name in _GROUPED:
            groups = str(op.attributes["replica_groups"])
            return Counter({("main", op.name, groups): sum(_bytes(operand.type) for operand in op.operands)})
        if (callee := symbols.callee(op)) is not None:
            return of_function(callee)
        total: Wire = Counter()
        for number, region in enumerate(op.regions):
            for (place, kind, devices), size in of_region(region).items():
                inner = place.removeprefix("main")
                total[f"main / {op.name}#{number}{inner}", kind, devices] += size
        return total

    return of_function("main")


def _pairs(op: ir.Operation) -> str:
    """The pairs that move data, in one order; "" for none."""
    flat = [int(number) for number in ir.DenseIntElementsAttr(op.attributes["source_target_pairs"])]
    pairs = sorted((source, target) for source, target in zip(flat[::2], flat[1::2], strict=True) if source != target)
    return ",".join(f"{source}->{target}" for source, target in pairs)


def _bytes(type_: ir.Type) -> int:
    """Bytes of a tensor; sub-byte elements are packed as XLA packs them."""
    shaped = ir.ShapedType(type_)
    element = shaped.element_type
    bits = 2 * ir.ComplexType(element).element_type.width if isinstance(element, ir.ComplexType) else element.width
    return math.ceil(math.prod(shaped.shape) * bits / 8)
