"""What it takes to call a module: its devices and the parameters of its entry function."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from hloverlap.passes.mlir.elision import describe_elided
from hloverlap.pipeline.equivalence import inputs

if TYPE_CHECKING:
    import numpy as np

# Custom calls that hold a pointer into the process that lowered them.
PROCESS_BOUND = ("xla_python_", "xla_ffi_python_", "xla_ffi_partitioned_python_", "CustomSPMDPartitioning")
# Ops that wait for a host program which is not there.
HOST_BOUND = ("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv")


class NotRunnableError(Exception):
    """The module cannot be run here; the text is the reason, a clause without a full stop."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of the entry function, with its global shape in elements."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    same_on_replicas: bool


@dataclasses.dataclass(frozen=True)
class Entry:
    """How to call a module. shardy: its shardings are Shardy's, not GSPMD's."""

    replicas: int
    partitions: int
    shardy: bool
    parameters: tuple[Parameter, ...]

    @property
    def devices(self) -> tuple[int, int]:
        """Replicas and partitions."""
        return self.replicas, self.partitions

    @classmethod
    def of(cls, module: ir.Module) -> Entry:
        """Reads a module without tokens at its entry; raises NotRunnableError."""
        if elided := describe_elided(module.operation):
            raise NotRunnableError(elided)
        _refuse_what_needs_a_host(module)
        function = entry_function(module)
        types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        attributes = ir.ArrayAttr(function.attributes["arg_attrs"]) if "arg_attrs" in function.attributes else ()
        parameters = []
        for position, type_ in enumerate(types.inputs):
            same = bool(attributes) and "mhlo.is_same_data_across_replicas" in ir.DictAttr(attributes[position])
            parameters.append(_parameter(type_, position, same))
        return cls(
            device_count(module, "replicas"), device_count(module, "partitions"), uses_shardy(module), tuple(parameters)
        )


def device_count(module: ir.Module, what: str) -> int:
    """``mhlo.num_replicas`` or ``mhlo.num_partitions`` (what: replicas, partitions); 1 where the module is silent."""
    name = f"mhlo.num_{what}"
    attributes = module.operation.attributes
    return max(1, ir.IntegerAttr(attributes[name]).value) if name in attributes else 1


def uses_shardy(module: ir.Module) -> bool:
    """Whether the shardings are Shardy's: a mesh in the body, or, as jax.export writes it, among the attributes."""
    if any(op.operation.name.startswith("sdy.") for op in module.body):
        return True
    attributes = module.operation.attributes
    if "mhlo.frontend_attributes" not in attributes:
        return False
    return any(name.startswith("xla.sdy.") for name in _named(attributes["mhlo.frontend_attributes"]))


def entry_function(module: ir.Module) -> ir.Operation:
    """The function ``main``; raises NotRunnableError."""
    for op in module.body:
        if op.operation.name == "func.func" and ir.StringAttr(op.operation.attributes["sym_name"]).value == "main":
            return op.operation
    raise NotRunnableError("the module has no function called main")


def drop_tokens(module: ir.Module) -> None:
    """Takes tokens out of the entry's signature, in place: nobody outside a process can make one or compare it."""
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    arguments = [value for value in block.arguments if _is_token(value.type)]
    terminator = block.operations[len(block.operations) - 1].operation
    kept_results = [number for number, value in enumerate(terminator.operands) if not _is_token(value.type)]
    if not arguments and len(kept_results) == len(terminator.operands):
        return
    kept_arguments = [number for number, value in enumerate(block.arguments) if not _is_token(value.type)]
    with ir.InsertionPoint.at_block_begin(block), function.location:
        for argument in arguments:
            argument.replace_all_uses_with(stablehlo.create_token())
    for argument in reversed(arguments):
        block.erase_argument(argument.arg_number)
    values = [terminator.operands[number] for number in kept_results]
    with ir.InsertionPoint(terminator), terminator.location:
        ir.Operation.create(terminator.name, operands=values)
    terminator.erase()
    with module.context:
        inputs_, results = [value.type for value in block.arguments], [value.type for value in values]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs_, results))
        for name, kept in (("arg_attrs", kept_arguments), ("res_attrs", kept_results)):
            if name in function.attributes:
                held = ir.ArrayAttr(function.attributes[name])
                function.attributes[name] = ir.ArrayAttr.get([_without_alias(held[number]) for number in kept])


def gather_results(module: ir.Module) -> None:
    """Has every device hold every result whole, in place: jaxlib aborts on sharded results of several replicas."""
    function = entry_function(module)
    if "res_attrs" in function.attributes:
        del function.attributes["res_attrs"]


def _without_alias(attributes: ir.Attribute) -> ir.Attribute:
    """An alias counts results, tokens among them, and changes no value."""
    return ir.DictAttr.get({name: each for name, each in _named(attributes).items() if name != "tf.aliasing_output"})


def _named(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    """What a dictionary attribute holds."""
    dictionary = ir.DictAttr(attribute)
    pairs = [dictionary[number] for number in range(len(dictionary))]
    return {pair.name: pair.attr for pair in pairs}


def _is_token(type_: ir.Type) -> bool:
    return str(type_) == "!stablehlo.token"


def _parameter(type_: ir.Type, position: int, same_on_replicas: bool) -> Parameter:
    if not isinstance(type_, ir.RankedTensorType):
        raise NotRunnableError(f"argument {position} of main is a {type_}, and only tensors can be made up")
    if not type_.has_static_shape:
        raise NotRunnableError(f"argument {position} of main is a {type_}: refine its shape first")
    try:
        dtype = inputs.dtype_of(str(type_.element_type))
    except ValueError as error:
        raise NotRunnableError(f"argument {position} of main is a {type_}: {error}") from None
    return Parameter(tuple(type_.shape), dtype, same_on_replicas)


def _refuse_what_needs_a_host(module: ir.Module) -> None:
    reasons: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in HOST_BOUND:
            reasons.append(f"{op.name} waits for a host program that is not there")
        elif op.name == "stablehlo.custom_call":
            target = ir.StringAttr(op.attributes["call_target_name"]).value
            if target.startswith(PROCESS_BOUND):
                reasons.append(f"custom call {target} holds a pointer into the process that lowered it")
        return ir.WalkResult.INTERRUPT if reasons else ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if reasons:
        raise NotRunnableError(reasons[0])
