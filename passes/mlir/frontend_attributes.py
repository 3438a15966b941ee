"""Reads and writes XLA's frontend attributes: a dictionary of strings on an op, which others may have written to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from jaxlib.mlir import ir

KEY = "mhlo.frontend_attributes"

# The names XLA:GPU reads.
STREAM = "_xla_stream_annotation"
GROUP = "_collectives_group"
COMBINER_KEY = "combiner_key"
INLINEABLE = "inlineable"
DOMAIN = "collective_communication_domain"
SCHEDULING_GROUP = "_scheduling_group_id"


def read(op: ir.Operation) -> dict[str, str]:
    """Gives all frontend attributes of an op, in their order; those that are no strings are left out."""
    attributes = op.attributes
    if KEY not in attributes:
        return {}
    found = attributes[KEY]
    if not isinstance(found, ir.DictAttr):
        return {}
    return {item.name: _text(item.attr) for item in found if isinstance(item.attr, ir.StringAttr)}


def _text(attribute: ir.StringAttr) -> str:
    """Gives the string; the bindings raise for an empty one that was read from bytecode."""
    try:
        return str(attribute.value)
    except RuntimeError:
        return ""


def update(op: ir.Operation, values: Mapping[str, str | None]) -> bool:
    """Sets each name to its value, or removes it where the value is None; says whether that changed the op.

    The other entries stay. The attribute itself goes when its last entry goes.
    """
    held = op.attributes.get(KEY, None)
    entries = {item.name: item.attr for item in held} if isinstance(held, ir.DictAttr) else {}
    for name, value in values.items():
        if value is None:
            entries.pop(name, None)
        else:
            entries[name] = ir.StringAttr.get(value, op.context)
    wanted = ir.DictAttr.get(entries, op.context) if entries else None
    if (wanted is None and held is None) or (wanted is not None and held is not None and wanted == held):
        return False
    if wanted is None:
        del op.attributes[KEY]
    else:
        op.attributes[KEY] = wanted
    return True


def names(op: ir.Operation) -> list[str]:
    """Lists the names of all attributes of an op, in order."""
    return [item if isinstance(item, str) else item.name for item in op.attributes]


def as_text(op: ir.Operation, without: Collection[str] = ()) -> tuple[tuple[str, str], ...]:
    """Gives all attributes of an op but those named, as (name, text): equal for ops that carry the same."""
    return tuple((name, str(op.attributes[name])) for name in names(op) if name not in without)
