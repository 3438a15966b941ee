"""Meshes of devices: their axes, and which devices differ along some of them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo

from hloverlap.passes.errors import PassError
from hloverlap.passes.mlir.symbols import symbol_name

Group = tuple[int, ...]
"""Device ids, in an order that counts."""


class MeshError(PassError):
    """A mesh, or an axis of one, is named and is not there."""


class AxisPart(NamedTuple):
    """An axis of a mesh, or of its coordinates those digits that `size` counts after `before` were counted."""

    name: str
    before: int = 1
    size: int = 0
    """0 for the whole axis."""

    @classmethod
    def of(cls, attribute: ir.Attribute) -> AxisPart:
        """Reads an ``axis_ref`` of StableHLO or Shardy."""
        dialect = stablehlo if stablehlo.AxisRefAttr.isinstance(attribute) else sdy
        axis = dialect.AxisRefAttr(attribute)
        if axis.sub_axis_info is None:
            return cls(axis.name)
        part = dialect.SubAxisInfoAttr(axis.sub_axis_info)
        return cls(axis.name, part.pre_size, part.size)


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Devices in a grid."""

    sizes: dict[str, int]
    """Of each axis, by its name; the first is the most significant one."""
    device_ids: Group
    """In the order of the grid, row by row."""

    @property
    def size(self) -> int:
        """Counts the devices that there must be for its ids."""
        return 1 + max(self.device_ids, default=0)

    @classmethod
    def of(cls, attribute: ir.Attribute) -> Mesh:
        """Reads a mesh of StableHLO or Shardy."""
        if stablehlo.MeshAttr.isinstance(attribute):
            mesh = stablehlo.MeshAttr(attribute)
            axes = [stablehlo.MeshAxisAttr(axis) for axis in mesh.axes]
        else:
            mesh = sdy.MeshAttr(attribute)
            axes = [sdy.MeshAxisAttr(axis) for axis in mesh.axes]
        sizes = {str(axis.name): int(axis.size) for axis in axes}
        ids = tuple(int(number) for number in mesh.device_ids or ())
        return cls(sizes, ids or tuple(range(math.prod(sizes.values()))))

    @property
    def in_order(self) -> Mesh:
        """Gives the mesh as if its devices were numbered row by row."""
        return dataclasses.replace(self, device_ids=tuple(range(len(self.device_ids))))

    def groups(self, axes: Iterable[AxisPart]) -> list[Group]:
        """Lists the groups of devices that differ along `axes` alone, each with the last axis counting fastest.

        That is the order in which XLA flattens the groups that are written as axes. Raises MeshError.
        """
        wanted = list(axes)
        shape: list[int] = []
        dimension_of: dict[AxisPart, int] = {}  # the parts that there are, after cutting the axes where it is asked
        for name, size in self.sizes.items():
            cuts = {1, size}
            for axis in wanted:
                if axis.name == name and axis.size:
                    cuts |= {axis.before, axis.before * axis.size}
            for low, high in itertools.pairwise(sorted(cuts)):
                dimension_of[AxisPart(name, low, high // low)] = len(shape)
                shape.append(high // low)
            if size == 1:
                dimension_of[AxisPart(name, 1, 1)] = len(shape)
                shape.append(1)
        grouped = [self._dimension(axis, dimension_of) for axis in wanted]
        if math.prod(shape) != len(self.device_ids) or len(set(grouped)) != len(grouped):
            raise MeshError(f"axes {_listed(wanted)} do not divide a mesh of {len(self.device_ids)} devices")
        rest = [number for number in range(len(shape)) if number not in grouped]
        length = math.prod(shape[number] for number in grouped)
        table = np.array(self.device_ids).reshape(shape).transpose([*rest, *grouped]).reshape(-1, length)
        return [tuple(row) for row in table.tolist()]

    def places(self, axes: Iterable[AxisPart]) -> dict[int, int]:
        """Gives where each device is along `axes`, as one number. Raises MeshError."""
        return {device: place for group in self.groups(axes) for place, device in enumerate(group)}

    def length(self, axes: Iterable[AxisPart]) -> int:
        """Counts the places along `axes`."""
        return math.prod(axis.size or self.sizes[axis.name] for axis in axes)

    def _dimension(self, axis: AxisPart, dimension_of: dict[AxisPart, int]) -> int:
        if axis.name not in self.sizes:
            raise MeshError(f"axis '{axis.name}' is not one of the mesh's, {', '.join(self.sizes)}")
        whole = axis if axis.size else AxisPart(axis.name, 1, self.sizes[axis.name])
        if whole not in dimension_of:
            raise MeshError(f"axes {_listed([axis])} overlap others")
        return dimension_of[whole]


class Meshes:
    """Holds the meshes of a module, by their names."""

    def __init__(self, module: ir.Operation) -> None:
        self._attributes = {
            symbol_name(view.operation): view.operation.attributes["mesh"]
            for view in module.regions[0].blocks[0].operations
            if view.operation.name == "sdy.mesh"
        }
        self._known: dict[ir.Attribute, Mesh] = {}

    def names(self) -> list[str]:
        """Gives the names, in the order of the module."""
        return list(self._attributes)

    def all(self) -> list[Mesh]:
        """Gives those that have a name."""
        return [Mesh.of(attribute) for attribute in self._attributes.values()]

    def of(self, mesh_or_name: ir.Attribute) -> Mesh:
        """Gives the mesh that an attribute is, or that it names. Raises MeshError."""
        if mesh_or_name not in self._known:
            attribute = mesh_or_name
            if isinstance(mesh_or_name, ir.FlatSymbolRefAttr):
                if mesh_or_name.value not in self._attributes:
                    raise MeshError(f"there is no mesh '{mesh_or_name.value}' in the module")
                attribute = self._attributes[mesh_or_name.value]
            self._known[mesh_or_name] = Mesh.of(attribute)
        return self._known[mesh_or_name]


def _listed(axes: Iterable[AxisPart]) -> str:
    return ", ".join(f"{axis.name}:({axis.before}){axis.size}" if axis.size else axis.name for axis in axes)
