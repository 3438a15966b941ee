"""Puts what XLA made of a module for one device in the place of the whole, as one manual computation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.analysis.replica_groups import GROUPS, ReplicaGroups
from hloverlap.passes.errors import HloverlapError
from hloverlap.passes.mlir import modules
from hloverlap.passes.mlir.meshes import Mesh, Meshes
from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import MANUAL_COMPUTATION, ops_in, terminator
from hloverlap.pipeline.partition.question import Partitioned, TiledSharding
from hloverlap.pipeline.partition.scope import SHARDING, attributes_of
from hloverlap.pipeline.partition.shardings import spelled

_OF_HLO = "mhlo.sharding"  # on an op of one device it has no meaning any more
_AXIS = "partition"  # of the mesh that is made where none of the module's will do


class UnbuildableError(HloverlapError):
    """The module and XLA's answer do not fit together in StableHLO; the text is a clause."""


def put_in(module: ir.Operation, partitioned: Partitioned) -> None:
    """Replaces main's body. Its types, attributes and location stay; its shardings become those that XLA chose.

    Raises UnbuildableError, before anything is changed.
    """
    main = modules.entry_function(module)
    assert main is not None
    device = ir.Module.parse(partitioned.module, module.context)
    part = modules.entry_function(device)
    if part is None:
        raise UnbuildableError("XLA's module has no main")
    whole, local = modules.signature(main), modules.signature(part)
    _require_even(whole.inputs, local.inputs, partitioned.arguments, "argument")
    _require_even(whole.results, local.results, partitioned.results, "result")
    mesh = _Mesh.for_(module, partitioned, [*whole.inputs, *whole.results])
    arguments, results = mesh.spelled[: len(whole.inputs)], mesh.spelled[len(whole.inputs) :]
    _list_groups(device.operation)
    for op in ops_in(device.operation):
        if _OF_HLO in op.attributes:
            del op.attributes[_OF_HLO]

    mesh.insert(module)
    _clear(main)
    _drop_uncalled(module)
    part = _move_functions(device.operation, module)
    _wrap(main, part, mesh, arguments, results)
    _set_shardings(main, "arg_attrs", mesh.name, arguments)
    _set_shardings(main, "res_attrs", mesh.name, results)


def _require_even(
    whole: Sequence[ir.Type], local: Sequence[ir.Type], shardings: Sequence[TiledSharding | None], what: str
) -> None:
    """A manual computation has only parts of one size."""
    if not len(whole) == len(local) == len(shardings):
        raise UnbuildableError(f"XLA's module has {len(local)} {what}s with {len(shardings)} shardings")
    for number, (type_, part, sharding) in enumerate(zip(whole, local, shardings, strict=True)):
        if sharding is None:
            raise UnbuildableError(f"{what} {number} is divided in a way that names no tiles")
        shape, parts = ir.RankedTensorType(type_).shape, ir.RankedTensorType(part).shape
        tiles = sharding.tiles or (1,) * len(shape)
        if [size * count for size, count in zip(parts, tiles, strict=True)] != list(shape):
            raise UnbuildableError(f"{what} {number}, a {type_}, does not divide evenly into {list(tiles)} tiles")


class _Mesh:
    """The mesh in whose axes all arguments and results are divided."""

    def __init__(self, name: str, mesh: Mesh, spelled: list[str], is_new: bool) -> None:
        self.name, self.mesh, self.spelled, self.is_new = name, mesh, spelled, is_new

    @classmethod
    def for_(cls, module: ir.Operation, partitioned: Partitioned, types: Sequence[ir.Type]) -> _Mesh:
        """One of the module's, else a new one of a single axis."""
        count = modules.device_counts(module).devices
        meshes = Meshes(module)
        candidates = [
            (name, meshes.of(ir.FlatSymbolRefAttr.get(name, module.context)), False) for name in meshes.names()
        ]
        unused = Symbols(module).unused("mesh")
        candidates.append((unused, Mesh({_AXIS: count}, tuple(range(count))), True))
        shardings = [each for each in (*partitioned.arguments, *partitioned.results) if each is not None]
        for name, mesh, is_new in candidates:
            if len(mesh.device_ids) != count or math.prod(mesh.sizes.values()) != count:
                continue
            said = [
                spelled(sharding, ir.RankedTensorType(type_).rank, mesh)
                for sharding, type_ in zip(shardings, types, strict=True)
            ]
            found = [each for each in said if each is not None]
            if len(found) == len(said):
                return cls(name, mesh, found, is_new)
        raise UnbuildableError("no mesh has axes for the way in which XLA orders the devices")

    def insert(self, module: ir.Operation) -> None:
        if self.is_new:
            with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]), module.location:
                axes = [sdy.MeshAxisAttr.get(name, size) for name, size in self.mesh.sizes.items()]
                sdy.MeshOp(self.name, sdy.MeshAttr.get(axes))


def _list_groups(device: ir.Operation) -> None:
    """Writes replica groups as lists: the axes are of meshes that only XLA's module has."""
    groups = ReplicaGroups(device)
    for op in ops_in(device):
        if GROUPS in op.attributes:
            listed = groups.listed(op)
            if not listed:
                continue
            longest = max(map(len, listed))
            table = [[*group, *[-1] * (longest - len(group))] for group in listed]
            with device.context, ir.Location.unknown():
                op.attributes[GROUPS] = ir.DenseElementsAttr.get(np.array(table, np.int64))


def _clear(function: ir.Operation) -> None:
    for view in reversed(list(function.regions[0].blocks[0].operations)):
        view.operation.erase()


def _drop_uncalled(module: ir.Operation) -> None:
    """Takes out the private functions that nothing calls any more."""
    symbols = Symbols(module)
    waiting = [name for name, function in symbols.functions.items() if not _is_private(function)]
    kept: set[str] = set()
    while waiting:
        if (name := waiting.pop()) not in kept:
            kept.add(name)
            waiting += symbols.callees(name)
    for name, function in symbols.functions.items():
        if name not in kept:
            function.erase()


def _is_private(function: ir.Operation) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and ir.StringAttr(attributes["sym_visibility"]).value == "private"


def _move_functions(device: ir.Operation, module: ir.Operation) -> ir.Operation:
    """Copies all functions of one module into the other, under free names; gives the copy of main."""
    symbols, theirs = Symbols(module), Symbols(device)
    wish = {name: "partitioned" if name == modules.MAIN else name for name in theirs.functions}
    names = {name: symbols.unused(wish[name]) for name in theirs.functions}
    for call in ops_in(device, *CALLS):
        theirs.redirect(call, names[str(theirs.callee(call))])
    main = None
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        for name, function in theirs.functions.items():
            copied = function.clone().operation
            copied.attributes["sym_name"] = ir.StringAttr.get(names[name], module.context)
            copied.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
            main = copied if name == modules.MAIN else main
    assert main is not None
    return main


def _wrap(
    main: ir.Operation, part: ir.Operation, mesh: _Mesh, arguments: Sequence[str], results: Sequence[str]
) -> None:
    """Moves the body of `part` into a manual computation in main, and erases `part`."""
    context, block = main.context, main.regions[0].blocks[0]
    axes = ", ".join(f'"{name}"' for name in mesh.mesh.sizes)
    with ir.InsertionPoint(block), main.location:
        computation = ir.Operation.create(
            MANUAL_COMPUTATION,
            results=list(modules.signature(main).results),
            operands=list(block.arguments),
            attributes={
                "in_shardings": _per_value(mesh.name, arguments, context),
                "out_shardings": _per_value(mesh.name, results, context),
                "manual_axes": ir.Attribute.parse(f"#sdy<manual_axes{{{axes}}}>", context),
            },
            regions=1,
        )
        ir.Operation.create("func.return", operands=list(computation.results))
    part.regions[0].blocks[0].append_to(computation.regions[0])
    last = terminator(computation.regions[0].blocks[0])
    with ir.InsertionPoint(last), last.location:
        ir.Operation.create("sdy.return", operands=list(last.operands))
    last.erase()
    part.erase()


def _per_value(mesh: str, shardings: Sequence[str], context: ir.Context) -> ir.Attribute:
    listed = ", ".join(f"<@{mesh}, {each}>" for each in shardings)
    return ir.Attribute.parse(f"#sdy.sharding_per_value<[{listed}]>", context)


def _set_shardings(function: ir.Operation, name: str, mesh: str, shardings: Sequence[str]) -> None:
    context = function.context
    changed = []
    for held, sharding in zip(attributes_of(function, name), shardings, strict=True):
        pairs = {held[number].name: held[number].attr for number in range(len(held))}
        pairs[SHARDING] = ir.Attribute.parse(f"#sdy.sharding<@{mesh}, {sharding}>", context)
        changed.append(ir.DictAttr.get(pairs, context))
    function.attributes[name] = ir.ArrayAttr.get(changed, context)
