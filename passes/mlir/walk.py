"""Walks through the ops of a module, and tells the kinds of op apart that matter on the way."""

from __future__ import annotations

from jaxlib.mlir import ir

FUNCTION = "func.func"
LOOP = "stablehlo.while"
CONDITIONALS = frozenset({"stablehlo.case", "stablehlo.if"})
MANUAL_COMPUTATION = "sdy.manual_computation"

# What ends a block.
TERMINATORS = frozenset({"func.return", "sdy.return", "stablehlo.return"})
# What XLA runs as one step: all that is inside waits for every operand, and every result waits for all that is inside.
STEPS = CONDITIONALS | {LOOP}
# What XLA takes the region of and puts it in the op's place.
INLINED_REGIONS = frozenset({MANUAL_COMPUTATION, "sdy.named_computation"})


def ops_in(root: ir.Operation, *names: str, order: ir.WalkOrder = ir.WalkOrder.POST_ORDER) -> list[ir.Operation]:
    """Lists the ops of these names in `root`, itself included; all ops where no name is given.

    They are in the order of the text, but an op comes after what its regions hold, unless `order` is PRE_ORDER. It is
    a list, so that the caller may erase what it finds.
    """
    wanted = frozenset(names)
    found: list[ir.Operation] = []
    goes_on = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not wanted or op.name in wanted:
            found.append(op)
        return goes_on

    root.walk(visit, order)
    return found


def blocks_with(root: ir.Operation, *names: str) -> list[ir.Block]:
    """Lists the blocks in `root` in which an op of one of these names stands, by the first such op."""
    return list(dict.fromkeys(op.block for op in ops_in(root, *names)))


def terminator(block: ir.Block) -> ir.Operation:
    """Gives the last op of a block."""
    return block.operations[len(block.operations) - 1].operation


def definition(value: ir.Value) -> ir.Operation | None:
    """Gives the op whose result a value is; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def has_uses(value: ir.Value) -> bool:
    """Says whether any op takes a value."""
    return next(iter(value.uses), None) is not None


def function_of(op: ir.Operation) -> ir.Operation | None:
    """Gives the function around an op, or the op itself if it is one; None outside of functions."""
    inner: ir.Operation | None = op
    while inner is not None and inner.name != FUNCTION:
        inner = inner.parent.operation if inner.parent is not None else None
    return inner


class FreeValues:
    """Finds the values from outside that the regions of an op use, looking at each op once.

    The module must not change between two questions.
    """

    def __init__(self) -> None:
        self._known: dict[ir.Operation, tuple[ir.Value, ...]] = {}

    def of(self, op: ir.Operation) -> tuple[ir.Value, ...]:
        """Gives the values in the order of their first use, each once."""
        if not len(op.regions):
            return ()
        if op not in self._known:
            inside: set[ir.Value] = set()
            free: dict[ir.Value, None] = {}
            for region in op.regions:
                for block in region.blocks:
                    inside.update(block.arguments)
                    for view in block.operations:
                        inner = view.operation
                        free.update(
                            (value, None) for value in (*inner.operands, *self.of(inner)) if value not in inside
                        )
                        inside.update(inner.results)
            self._known[op] = tuple(free)
        return self._known[op]


def free_values(op: ir.Operation) -> tuple[ir.Value, ...]:
    """Gives the values from outside that the regions of one op use, in the order of their first use."""
    return FreeValues().of(op)
