"""Bugs to plant: for each pass at least one, of the kinds that rewriting a program makes.

Each names a function, a text that is in it once, and what to put there instead. In which file the function is, and how
its lines are broken, does not matter: code may move, and the bug is found again.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """One bug."""

    function: str
    """The function by its name with those around it, as in ``Layout.unpack``; or a constant of a module."""
    old: str
    """A text that is in the function once. Spaces and line breaks in it stand for any, or for none."""
    new: str
    """What the bug has in its place."""
    why: str
    """What is wrong then."""


PLANTED = (
    Planted(
        "sliced",
        "stablehlo.slice(flat, [start], [start + size], [1])",
        "stablehlo.slice(flat, [max(0, start - 1)], [max(0, start - 1) + size], [1])",
        "a wrong slice offset: a value comes out of its neighbour's bits",
    ),
    Planted(
        "_stored",
        "is_widened(element) or (",
        "(",
        "a float that XLA may widen is packed as it is",
    ),
    Planted(
        "Layout.unpack",
        "_from_units(runs[where], slot.stored, slot.start, elements_of(slot.part))",
        "_from_units(runs[where], slot.stored, 0 if number % 2 else slot.start, elements_of(slot.part))",
        "two values of one type come out of the same bits",
    ),
    Planted(
        "_unit",
        "not any(size % w for size in sizes)",
        "not sizes[0] % w",
        "units that do not divide a type's values",
    ),
    Planted(
        "_stacked",
        "_splat(plane, number * width)",
        "_splat(plane, min(number, 2) * width)",
        "the third and the fourth plane share their bits",
    ),
    Planted(
        "_bits_from",
        "if start + count < _element(value).width:",
        "if start and start + count < _element(value).width:",
        "bits of the other planes stay in the first one",
    ),
    Planted(
        "concatenate",
        "values.update(zip(numbers, call.results, strict=True))",
        "values.update(zip(reversed(numbers), call.results, strict=True))",
        "a row of values comes out in the wrong order",
    ),
    Planted(
        "_AxisScope.inside",
        "self.manual | outer.manual, self.sizes | outer.sizes",
        "self.manual | outer.manual, self.sizes",
        "what a caller's mesh leaves to XLA is packed all the same",
    ),
    Planted(
        "KeepDotsApart.run",
        "late = [dots for dots in merged if dots[0].level < dots[-1].level]",
        "late = merged",
        "matmuls that are ready together are kept apart",
    ),
    Planted(
        "merged_dots",
        "if not any(needed[need] >> bit & 1 for need in segment.needs[n])",
        "",
        "matmuls that need each other are taken for mergeable",
    ),
    Planted(
        "trip_count",
        "return max(0, -(-(end - start) // by))",
        "return max(0, (end - start) // by)",
        "the last turn of a loop is not counted",
    ),
    Planted(
        "group",
        "for member, value in zip(members, call.results, strict=True):",
        "for member, value in zip(members, list(call.results)[::-1], strict=True):",
        "users get another member's result",
    ),
    Planted(
        "group.build",
        "copies[-1].operands[0] = argument",
        "copies[-1].operands[0] = arguments[0] if arguments[0].type == argument.type else argument",
        "a member sends another member's operand",
    ),
    Planted(
        "CanonicalizePermutes._remove_identity",
        "if len(pairs) != size:",
        "if len(pairs) > size:",
        "a partial identity is removed, though others get zeros",
    ),
    Planted(
        "CanonicalizePermutes._block",
        "if seen and effects.is_ordered(op):",
        "if False:",
        "permutes are shared across a barrier",
    ),
    Planted(
        "CanonicalizePermutes._block",
        "result.replace_all_uses_with(same)",
        "result.replace_all_uses_with(first.operands[0])",
        "a shared permute's users get what was not sent",
    ),
    Planted(
        "AssignCollectiveStreams.run",
        "if stream not in taken",
        "if stream not in ()",
        "the user's own stream is given away",
    ),
    Planted(
        "AssignCollectiveStreams.run",
        "max(self.first_stream, context.capabilities.first_stream)",
        "max(self.first_stream, 1)",
        "permutes are put on a stream that XLA keeps for itself",
    ),
    Planted(
        "AssignCollectiveStreams._annotate",
        "stream_annotations.annotate(op, choice.stream, number)",
        "stream_annotations.annotate(op, choice.stream, 0)",
        "one combiner key for all: XLA joins annotated permutes",
    ),
    Planted(
        "strip",
        "frontend_attributes.update(op, {STREAM: None, COMBINER_KEY: None})",
        "frontend_attributes.update(op, dict.fromkeys(frontend_attributes.read(op)))",
        "what others wrote is dropped",
    ),
    Planted(
        "is_own",
        "return STREAM in held and held.get(COMBINER_KEY",
        "return STREAM in held or held.get(COMBINER_KEY",
        "the user's annotations are taken for ours",
    ),
    Planted(
        "_ORDERED",
        '"stablehlo.optimization_barrier",',
        "",
        "ops move across a barrier",
    ),
    Planted(
        "_Placer._find_concurrent",
        "unit.overlaps_with = unit.overlaps_with or tail.members[-1].op",
        "pass",
        "half of the pairs that can overlap are not seen",
    ),
    Planted(
        "_Specializer._choose",
        "chosen = self._copy(original) if variants else original",
        "chosen = original",
        "calls that need different streams share a function",
    ),
    Planted(
        "Segment.of",
        "(*op.operands, *free_values(op))",
        "op.operands",
        "what a region uses from outside is overlooked, and moves behind it",
    ),
    Planted(
        "Merger._replace",
        "self._merged.update(part)",
        "self._merged.update(part[:-1])",
        "an op is merged and declined at once",
    ),
    Planted(
        "_pairs",
        "twice := _twice([source for source, _ in pairs]) or",
        "twice := [] or",
        "an id twice among the sources is overlooked",
    ),
    Planted(
        "stream_of",
        "_NUMBER.fullmatch(text)",
        "_NUMBER.match(text)",
        "a value that aborts XLA goes through",
    ),
    Planted(
        "_look",
        "if each != branches[0]",
        "if len(each) != len(branches[0])",
        "other collectives in as many branches are overlooked",
    ),
    Planted(
        "find",
        "if late.waits >> bit & 1 or",
        "if",
        "permutes that wait for each other are said to be in flight together",
    ),
    Planted(
        "own_ops",
        "[op for op in ops_in(module) if is_own(op)]",
        "sorted((op for op in ops_in(module) if is_own(op)), key=lambda op: hash(str(op)))",
        "an unsorted set: the order differs from process to process",
    ),
    Planted(
        "Merger._members",
        "return [found for op in segment.ops if (found := self._candidate(op))]",
        "return [found for op in sorted(segment.ops, key=lambda op: hash(str(op))) if (found := self._candidate(op))]",
        "an unsorted set: members in an order that hashing gives",
    ),
    Planted(
        "ComposePermutes._compose",
        "compose(pairs_of(inner), pairs_of(outer))",
        "compose(pairs_of(outer), pairs_of(inner))",
        "the second permute is done first",
    ),
    Planted(
        "_Joiner._join",
        "condition = device_select.is_one_of(targets, mode, count)",
        "condition = device_select.is_one_of(targets[1:], mode, count)",
        "one device gets zeros instead of what it was sent",
    ),
    Planted(
        "_split",
        "device_select.select(is_crossing, between.results[0], inside.results[0])",
        "device_select.select(is_crossing, inside.results[0], between.results[0])",
        "devices get the wrong one of two permutes",
    ),
    Planted(
        "_hoist",
        "last.results[0].replace_all_uses_except(smaller.results[0], [smaller])",
        "pass",
        "a dropped user: what was sliced is used as it is here, and not as it is there",
    ),
    Planted(
        "_exchange",
        "if sorted(pairs_of(send)) != sorted(pairs_of(recv)) or",
        "if",
        "a send and a recv of other pairs become one permute",
    ),
    Planted(
        "is_one_of",
        "ir.BoolAttr.get(number in ids, context)",
        "ir.BoolAttr.get(number + 1 in ids, context)",
        "a device takes itself for its neighbour",
    ),
)
