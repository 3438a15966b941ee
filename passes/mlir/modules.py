"""Treats a module as a whole: its image, its devices, its entry function."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from jaxlib.mlir import ir

from hloverlap.passes.mlir import frontend_attributes
from hloverlap.passes.mlir.symbols import symbol_name
from hloverlap.passes.mlir.walk import FUNCTION, ops_in, terminator

# The attributes of a module that say for how many devices it is.
REPLICAS, PARTITIONS = "mhlo.num_replicas", "mhlo.num_partitions"

MAIN = "main"  # where XLA begins


def bytecode(module: ir.Module | ir.Operation) -> bytes:
    """Writes a faithful image, to copy and to compare; it takes a third of the time of text."""
    image = io.BytesIO()
    module.operation.write_bytecode(image)
    return image.getvalue()


def copy_of(module: ir.Module, context: ir.Context | None = None) -> ir.Module:
    """Makes an equal module, in another context where one is given."""
    return ir.Module.parse(bytecode(module), context or module.context)


class DeviceCounts(NamedTuple):
    """Says for how many devices a module is: `replicas` times, each divided into `partitions`."""

    replicas: int | None
    """None where the module does not say; XLA then takes it for 1."""
    partitions: int | None
    """The same."""

    def ids(self, mode: str) -> int | None:
        """Counts the ids there are in a mode of a collective, ``replica`` or ``partition``; None where it is unsaid."""
        return self.partitions if mode == "partition" else self.replicas

    @property
    def devices(self) -> int:
        """Counts the devices that it takes to run the module; what is unsaid counts as 1."""
        return (self.replicas or 1) * (self.partitions or 1)

    @property
    def topology_size(self) -> int | None:
        """Counts the devices that a topology names: partitions, or replicas where there is one partition (pmap).

        None where the module does not say.
        """
        return self.replicas if self.partitions in (None, 1) and self.replicas is not None else self.partitions


def device_counts(module: ir.Module | ir.Operation) -> DeviceCounts:
    """Reads for how many devices a module is."""
    attributes = module.operation.attributes
    counts = (ir.IntegerAttr(attributes[name]).value if name in attributes else 0 for name in (REPLICAS, PARTITIONS))
    return DeviceCounts(*(count if count > 0 else None for count in counts))


def set_device_counts(module: ir.Operation, counts: DeviceCounts) -> None:
    """Has a module say for how many devices it is, in place; what is None stays as it is."""
    number = ir.IntegerType.get_signless(32, module.context)
    for name, count in ((REPLICAS, counts.replicas), (PARTITIONS, counts.partitions)):
        if count is not None:
            module.attributes[name] = ir.IntegerAttr.get(number, count)


def uses_shardy(module: ir.Module | ir.Operation) -> bool:
    """Says whether the shardings are Shardy's: an op of its dialect, or, as jax.export writes it, an attribute."""
    if any(name.startswith("xla.sdy.") for name in frontend_attributes.read(module.operation)):
        return True
    return any(op.name.startswith("sdy.") for op in ops_in(module.operation))


def entry_function(module: ir.Module | ir.Operation) -> ir.Operation | None:
    """Gives the function ``main``, None where there is none."""
    block = module.operation.regions[0].blocks[0]
    functions = (op.operation for op in block.operations if op.operation.name == FUNCTION)
    return next((function for function in functions if symbol_name(function) == MAIN), None)


def signature(function: ir.Operation) -> ir.FunctionType:
    """Gives the types of a function's arguments and results."""
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def keep_results(function: ir.Operation, numbers: Sequence[int]) -> None:
    """Has a function return only its results of these numbers, in place."""
    last = terminator(function.regions[0].blocks[0])
    with ir.InsertionPoint(last), last.location:
        ir.Operation.create(last.name, operands=[last.operands[number] for number in numbers])
    last.erase()
    _retype(function, range(len(signature(function).inputs)), numbers)


def keep_arguments(function: ir.Operation, numbers: Sequence[int]) -> None:
    """Has a function take only its arguments of these numbers, in place; nothing may use the others."""
    block = function.regions[0].blocks[0]
    for number in reversed(range(len(block.arguments))):
        if number not in numbers:
            block.erase_argument(number)
    _retype(function, numbers, range(len(signature(function).results)))


def _retype(function: ir.Operation, arguments: Sequence[int], results: Sequence[int]) -> None:
    held, context = signature(function), function.context
    inputs, outputs = [held.inputs[number] for number in arguments], [held.results[number] for number in results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs, context), context)
    for name, numbers in (("arg_attrs", arguments), ("res_attrs", results)):
        if name in function.attributes:
            each = ir.ArrayAttr(function.attributes[name])
            function.attributes[name] = ir.ArrayAttr.get([each[number] for number in numbers], context)
