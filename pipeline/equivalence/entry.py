"""Reads what it takes to call a module: its devices and the parameters of its entry function."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.errors import HloverlapError
from hloverlap.passes.mlir import modules
from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.dtypes import dtype_of
from hloverlap.passes.mlir.elision import describe_elided
from hloverlap.passes.mlir.types import is_token
from hloverlap.passes.mlir.walk import ops_in, terminator

if TYPE_CHECKING:
    import numpy as np

# Custom calls that hold a pointer into the process that lowered them.
PROCESS_BOUND = ("xla_python_", "xla_ffi_python_", "xla_ffi_partitioned_python_", "CustomSPMDPartitioning")
# Ops that wait for a host program which is not there.
HOST_BOUND = ("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv")
_CUSTOM_CALL = "stablehlo.custom_call"


OpenSides: TypeAlias = tuple[Sequence[bool], Sequence[bool]]
"""Of each argument and each result whether XLA may choose its sharding; () for none."""


class NotRunnableError(HloverlapError):
    """Says that the module cannot be run here; the text is the reason, a clause without a full stop."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the entry function, with its global shape in elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    same_on_replicas: bool


@dataclasses.dataclass(frozen=True)
class Entry:
    """Says how to call a module."""

    replicas: int
    partitions: int
    shardy: bool
    """Whether its shardings are Shardy's, not GSPMD's."""
    parameters: tuple[Parameter, ...]

    @property
    def devices(self) -> tuple[int, int]:
        """Gives the numbers of replicas and partitions."""
        return self.replicas, self.partitions

    @classmethod
    def of(cls, module: ir.Module) -> Entry:
        """Reads a module without tokens at its entry; raises NotRunnableError."""
        if elided := describe_elided(module.operation):
            raise NotRunnableError(elided)
        _refuse_what_needs_a_host(module)
        function = entry_function(module)
        attributes = ir.ArrayAttr(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else ()
        parameters = []
        for position, type_ in enumerate(modules.signature(function).inputs):
            same = bool(attributes) and "mhlo.is_same_data_across_replicas" in ir.DictAttr(attributes[position])
            parameters.append(_parameter(type_, position, same))
        counts = modules.device_counts(module)
        return cls(counts.replicas or 1, counts.partitions or 1, modules.uses_shardy(module), tuple(parameters))


def read(path: pathlib.Path) -> tuple[ir.Module, Entry]:
    """Reads a module and makes it one that can be called; raises NotRunnableError."""
    module = ir.Module.parse(path.read_bytes(), make_context())
    drop_tokens(module)
    entry = Entry.of(module)
    if min(entry.devices) > 1:
        gather_results(module)
    return module, entry


def entry_function(module: ir.Module) -> ir.Operation:
    """Gives the function ``main``; raises NotRunnableError."""
    if (main := modules.entry_function(module)) is None:
        raise NotRunnableError("the module has no function called main")
    return main


def open_sides(before: ir.Module, after: ir.Module) -> OpenSides:
    """Says for which arguments and results XLA is to choose the sharding when it compiles `before`.

    They are those of which only `after` says one: jit lets XLA choose there, and that is what it has chosen.
    """
    arguments, results = (
        [not old and new for old, new in zip(_says_shardings(before, name), _says_shardings(after, name), strict=False)]
        for name in ("arg_attrs", "res_attrs")
    )
    return arguments, results


def _says_shardings(module: ir.Module, name: str) -> list[bool]:
    """Says of each argument (``arg_attrs``) or result (``res_attrs``) of main whether it has a sharding of Shardy's."""
    function = entry_function(module)
    if name not in function.attributes:
        signature = modules.signature(function)
        return [False] * len(signature.inputs if name == "arg_attrs" else signature.results)
    return ["sdy.sharding" in ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes[name])]


def drop_tokens(module: ir.Module) -> None:
    """Takes tokens out of the entry's signature, in place: nobody outside a process can make one or compare it."""
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    arguments = [value for value in block.arguments if is_token(value.type)]
    results = terminator(block).operands
    kept_results = [number for number, value in enumerate(results) if not is_token(value.type)]
    if not arguments and len(kept_results) == len(results):
        return
    kept_arguments = [number for number, value in enumerate(block.arguments) if not is_token(value.type)]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        for argument in arguments:
            argument.replace_all_uses_with(stablehlo.create_token())
    modules.keep_arguments(function, kept_arguments)
    modules.keep_results(function, kept_results)
    if "arg_attrs" in function.attributes:
        held = ir.ArrayAttr(function.attributes["arg_attrs"])
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(list(map(_without_alias, held)), module.context)


def gather_results(module: ir.Module) -> None:
    """Has every device hold every result whole, in place: jaxlib aborts on sharded results of several replicas."""
    function = entry_function(module)
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]


def _without_alias(attributes: ir.Attribute) -> ir.Attribute:
    """Drops the alias of an argument: it counts results, tokens among them, and changes no value."""
    held = ir.DictAttr(attributes)
    pairs = [held[number] for number in range(len(held))]
    kept = {pair.name: pair.attr for pair in pairs if pair.name != "tf.aliasing_output"}
    return ir.DictAttr.get(kept, attributes.context)


def _parameter(type_: ir.Type, position: int, same_on_replicas: bool) -> Parameter:
    if not isinstance(type_, ir.RankedTensorType):
        raise NotRunnableError(f"argument {position} of main is a {type_}, and only tensors can be made up")
    if not type_.has_static_shape:
        raise NotRunnableError(f"argument {position} of main is a {type_}: refine its shape first")
    try:
        dtype = dtype_of(str(type_.element_type))
    except ValueError as error:
        raise NotRunnableError(f"argument {position} of main is a {type_}: {error}") from None
    return Parameter(tuple(type_.shape), dtype, same_on_replicas)


def _refuse_what_needs_a_host(module: ir.Module) -> None:
    for op in ops_in(module.operation, *HOST_BOUND, _CUSTOM_CALL):
        if op.name != _CUSTOM_CALL:
            raise NotRunnableError(f"{op.name} waits for a host program that is not there")
        target = ir.StringAttr(op.attributes["call_target_name"]).value
        if target.startswith(PROCESS_BOUND):
            raise NotRunnableError(f"custom call {target} holds a pointer into the process that lowered it")
