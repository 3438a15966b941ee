"""Which modules are for the partitioner, and which it has nothing to do for."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.mlir import modules
from hloverlap.passes.mlir.meshes import Mesh, Meshes
from hloverlap.passes.mlir.types import has_static_shape
from hloverlap.passes.mlir.walk import MANUAL_COMPUTATION, TERMINATORS, definition, ops_in, terminator

SHARDING = "sdy.sharding"
_OF_GSPMD = "mhlo.sharding"
_CUSTOM_CALL = "stablehlo.custom_call"
_HOST_BOUND = ("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv")
_CALLBACKS = ("xla_python_", "xla_ffi_python_", "xla_ffi_partitioned_python_")
_PARTITIONER_CALLBACKS = ("CustomSPMDPartitioning",)


def is_per_device(module: ir.Operation) -> bool:
    """Says whether there is nothing to partition: one device, no ``main``, or all is in manual computations.

    All is, where they take main's arguments and give its results in main's own shardings, over all axes of their mesh.
    """
    main = modules.entry_function(module)
    if main is None or modules.device_counts(module).devices == 1:
        return True
    block = main.regions[0].blocks[0]
    meshes = Meshes(module)
    held = (attributes_of(main, "arg_attrs"), attributes_of(main, "res_attrs"))
    arguments, results = ([_sharding(each) for each in side] for side in held)
    for view in block.operations:
        op = view.operation
        if op.name in TERMINATORS:
            continue
        if op.name != MANUAL_COMPUTATION or not _covers(op, meshes):
            return False
        for operand, sharding in zip(op.operands, _shardings(op, "in_shardings"), strict=True):
            if not isinstance(operand.owner, ir.Block):
                return False
            if not _agree(arguments[ir.BlockArgument(operand).arg_number], sharding):
                return False
    for value, wanted in zip(terminator(block).operands, results, strict=True):
        op = definition(value)
        if op is None:
            continue
        sharding = _shardings(op, "out_shardings")[ir.OpResult(value).result_number]
        if not _agree(wanted, sharding):
            return False
    return True


def objection(module: ir.Operation) -> str:
    """Why a module cannot be partitioned first, as a clause; "" if it can be tried."""
    if (modules.device_counts(module).replicas or 1) > 1:
        return "it is for several replicas"
    main = modules.entry_function(module)
    assert main is not None
    if not modules.uses_shardy(module) and any(_OF_GSPMD in op.attributes for op in ops_in(module, _CUSTOM_CALL)):
        return "its shardings are GSPMD's"
    if any(_OF_GSPMD in each for name in ("arg_attrs", "res_attrs") for each in attributes_of(main, name)):
        return "its shardings are GSPMD's"
    if not all(map(has_static_shape, [*modules.signature(main).inputs, *modules.signature(main).results])):
        return "main takes or gives what is no array of a fixed shape"
    for op in ops_in(module, _CUSTOM_CALL, *_HOST_BOUND):
        if op.name != _CUSTOM_CALL:
            return f"it has a {op.name.removeprefix('stablehlo.')}, which talks to the host"
        target = str(ir.StringAttr(op.attributes["call_target_name"]).value)
        if target.startswith(_CALLBACKS):
            return f"it calls back into Python by {target}"
        if target.startswith(_PARTITIONER_CALLBACKS):
            return "it uses custom_partitioning, whose rule only the process that lowered it has"
        if "has_side_effect" in op.attributes and ir.BoolAttr(op.attributes["has_side_effect"]).value:
            return f"the custom call {target} has a side effect"
    return ""


def attributes_of(function: ir.Operation, name: str) -> list[ir.DictAttr]:
    """Gives the attributes of each argument (``arg_attrs``) or result (``res_attrs``) of a function."""
    signature = modules.signature(function)
    count = len(signature.inputs if name == "arg_attrs" else signature.results)
    if name not in function.attributes:
        return [ir.DictAttr.get({}, function.context)] * count
    return [ir.DictAttr(each) for each in ir.ArrayAttr(function.attributes[name])]


def _covers(computation: ir.Operation, meshes: Meshes) -> bool:
    """Says whether a manual computation is manual over all axes of its mesh."""
    axes = sdy.ManualAxesAttr(computation.attributes["manual_axes"])
    manual = {str(axes[number]).strip('"') for number in range(len(axes))}
    shardings = [*_shardings(computation, "in_shardings"), *_shardings(computation, "out_shardings")]
    found: list[Mesh] = [meshes.of(sdy.TensorShardingAttr(each).mesh_or_ref) for each in shardings]
    return all(manual.issuperset(mesh.sizes) for mesh in found)


def _sharding(attributes: ir.DictAttr) -> ir.Attribute | None:
    return attributes[SHARDING] if SHARDING in attributes else None  # noqa: SIM401  it has no get


def _agree(said: ir.Attribute | None, sharding: ir.Attribute) -> bool:
    return said is None or said == sharding


def _shardings(computation: ir.Operation, name: str) -> list[ir.Attribute]:
    return list(sdy.TensorShardingPerValueAttr(computation.attributes[name]).shardings)
