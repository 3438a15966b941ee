"""Bugs to plant: for each pass at least one, of the kinds that rewriting a program makes.

Each names a file of the package, a text that is in it once, and what to put there instead.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """One bug. why: what is wrong then."""

    file: str
    old: str
    new: str
    why: str


PLANTED = (
    Planted(
        "passes/building/bit_planes.py",
        "stablehlo.slice(flat, [start], [start + size], [1])",
        "stablehlo.slice(flat, [max(0, start - 1)], [max(0, start - 1) + size], [1])",
        "a wrong slice offset: a value comes out of its neighbour's bits",
    ),
    Planted(
        "passes/building/packing.py",
        "ir.F16Type | ir.F32Type | ir.F64Type",
        "ir.BF16Type | ir.F16Type | ir.F32Type | ir.F64Type",
        "packed as bf16: XLA may compute with it",
    ),
    Planted(
        "passes/building/packing.py",
        "_from_units(runs[where], place.stored, place.start, _size(place.part))",
        "_from_units(runs[where], place.stored, 0 if number % 2 else place.start, _size(place.part))",
        "two values of one type come out of the same bits",
    ),
    Planted(
        "passes/building/packing.py",
        "not any(size % w for size in sizes)",
        "not sizes[0] % w",
        "units that do not divide a type's values",
    ),
    Planted(
        "passes/building/bit_planes.py",
        "_splat(layer, number * width)",
        "_splat(layer, min(number, 2) * width)",
        "the third and the fourth layer share their bits",
    ),
    Planted(
        "passes/building/bit_planes.py",
        "if start + count < _element(value).width:",
        "if start and start + count < _element(value).width:",
        "bits of the other layers stay in the first one",
    ),
    Planted(
        "passes/building/concatenation.py",
        "values.update(zip(numbers, call.results, strict=True))",
        "values.update(zip(reversed(numbers), call.results, strict=True))",
        "a row of values comes out in the wrong order",
    ),
    Planted(
        "passes/analysis/mesh_axes.py",
        "self.manual | outer.manual, self.sizes | outer.sizes",
        "self.manual | outer.manual, self.sizes",
        "what a caller's mesh leaves to XLA is packed all the same",
    ),
    Planted(
        "passes/keep_dots_apart.py",
        "late = [dots for dots in merged if dots[0].level < dots[-1].level]",
        "late = merged",
        "matmuls that are ready together are kept apart",
    ),
    Planted(
        "passes/keep_dots_apart.py",
        "if not any(needed[need] >> bit & 1 for need in segment.needs[n])",
        "",
        "matmuls that need each other are taken for mergeable",
    ),
    Planted(
        "passes/analysis/loops.py",
        "return max(0, -(-(end - start) // by))",
        "return max(0, (end - start) // by)",
        "the last turn of a loop is not counted",
    ),
    Planted(
        "passes/building/grouping.py",
        "for member, value in zip(members, call.results, strict=True):",
        "for member, value in zip(members, list(call.results)[::-1], strict=True):",
        "users get another member's result",
    ),
    Planted(
        "passes/building/grouping.py",
        "copies[-1].operands[0] = argument",
        "copies[-1].operands[0] = arguments[0] if arguments[0].type == argument.type else argument",
        "a member sends another member's operand",
    ),
    Planted(
        "passes/canonicalize_permutes.py",
        "if len(pairs) != size:",
        "if len(pairs) > size:",
        "a partial identity is removed, though others get zeros",
    ),
    Planted(
        "passes/canonicalize_permutes.py",
        "if seen and effects.is_ordered(op):",
        "if False:",
        "permutes are shared across a barrier",
    ),
    Planted(
        "passes/canonicalize_permutes.py",
        "op.results[0].replace_all_uses_with(first.results[0])",
        "op.results[0].replace_all_uses_with(first.operands[0])",
        "a shared permute's users get what was not sent",
    ),
    Planted(
        "passes/assign_collective_streams.py",
        "while str(following) in taken:",
        "while False:",
        "the user's own stream is given away",
    ),
    Planted(
        "passes/assign_collective_streams.py",
        "stream_annotations.annotate(op, wish.stream, number)",
        "stream_annotations.annotate(op, wish.stream, 0)",
        "one combiner key for all: XLA joins annotated permutes",
    ),
    Planted(
        "passes/analysis/stream_annotations.py",
        "frontend_attributes.update(op, {STREAM: None, COMBINER_KEY: None})",
        "frontend_attributes.update(op, dict.fromkeys(frontend_attributes.read(op)))",
        "what others wrote is dropped",
    ),
    Planted(
        "passes/analysis/stream_annotations.py",
        "return STREAM in held and held.get(COMBINER_KEY",
        "return STREAM in held or held.get(COMBINER_KEY",
        "the user's annotations are taken for ours",
    ),
    Planted(
        "passes/analysis/effects.py",
        '"stablehlo.optimization_barrier",\n',
        "",
        "ops move across a barrier",
    ),
    Planted(
        "passes/analysis/concurrency.py",
        "unit.partner = unit.partner or tail.members[-1].op",
        "pass",
        "half of the pairs that can overlap are not seen",
    ),
    Planted(
        "passes/building/specialization.py",
        "chosen = self._copy(original) if variants else original",
        "chosen = original",
        "calls that need different streams share a function",
    ),
    Planted(
        "passes/analysis/segments.py",
        "yield from _uses(inner.operation)",
        "yield from ()",
        "what a region uses from outside is overlooked, and moves behind it",
    ),
    Planted(
        "passes/merge_cross_host_transfers.py",
        "merged = {fact for part in sets for fact in part}",
        "merged = set()",
        "an op is merged and declined at once",
    ),
    Planted(
        "passes/checks/pair_checks.py",
        "twice := _twice([source for source, _ in pairs]) or",
        "twice := [] or",
        "an id twice among the sources is overlooked",
    ),
    Planted(
        "passes/checks/annotation_checks.py",
        'elif not re.fullmatch(r"\\d+", value):',
        'elif not re.match(r"\\d*", value):',
        "a value that aborts XLA goes through",
    ),
    Planted(
        "passes/checks/branch_checks.py",
        "if each != sequences[0]), None)",
        "if len(each) != len(sequences[0])), None)",
        "other collectives in as many branches are overlooked",
    ),
    Planted(
        "passes/checks/flight_checks.py",
        "if not late.waits >> bit & 1 and",
        "if",
        "permutes that wait for each other are said to be in flight together",
    ),
    Planted(
        "passes/analysis/stream_annotations.py",
        "found.append(op)",
        "found.insert(hash(str(id(op))) % (len(found) + 1), op)",
        "an unsorted set: the order differs from process to process",
    ),
    Planted(
        "passes/merge_cross_host_transfers.py",
        "members = [found for op in segment.ops if (found := self._fact(op))]",
        "members = [found for op in sorted(segment.ops, key=lambda op: hash(str(op))) if (found := self._fact(op))]",
        "an unsorted set: members in an order that hashing gives",
    ),
    Planted(
        "passes/compose_permutes.py",
        "compose(pairs_of(inner), pairs_of(outer))",
        "compose(pairs_of(outer), pairs_of(inner))",
        "the second permute is done first",
    ),
    Planted(
        "passes/join_partial_permutes.py",
        "condition = device_select.is_one_of(targets, mode, count)",
        "condition = device_select.is_one_of(targets[1:], mode, count)",
        "one device gets zeros instead of what it was sent",
    ),
    Planted(
        "passes/split_permutes_by_host.py",
        "device_select.select(is_crossing, between.results[0], inside.results[0])",
        "device_select.select(is_crossing, inside.results[0], between.results[0])",
        "devices get the wrong one of two permutes",
    ),
    Planted(
        "passes/hoist_permutes.py",
        "last.results[0].replace_all_uses_except(smaller.results[0], [smaller])",
        "pass",
        "a dropped user: what was sliced is used as it is here, and not as it is there",
    ),
    Planted(
        "passes/lower_send_recv.py",
        "if sorted(pairs_of(send)) != sorted(pairs_of(recv)) or",
        "if",
        "a send and a recv of other pairs become one permute",
    ),
    Planted(
        "passes/building/device_select.py",
        "ir.BoolAttr.get(number in ids, context)",
        "ir.BoolAttr.get(number + 1 in ids, context)",
        "a device takes itself for its neighbour",
    ),
)
