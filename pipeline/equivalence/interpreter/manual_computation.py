"""Shardy's manual computations: which part of a whole array each partition works on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo

from hloverlap.passes.mlir.symbols import symbol_name
from hloverlap.passes.mlir.walk import terminator
from hloverlap.pipeline.equivalence.entry import NotRunnableError
from hloverlap.pipeline.equivalence.interpreter.op_eval import Evaluator, Value

Counts = tuple[int, ...]  # into how many parts each dimension is cut
ShardIndex = tuple[int, ...]  # for each dimension, which of its parts


class ManualComputations:
    """Splits and joins the arrays of manual computations. All axes of the mesh must be manual."""

    def __init__(self, module: ir.Module, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._meshes = {
            symbol_name(op.operation): sdy.MeshAttr(op.operation.attributes["mesh"])
            for op in module.body
            if op.operation.name == "sdy.mesh"
        }

    def split(self, op: ir.Operation, values: Sequence[Value]) -> tuple[int, list[list[Value]]]:
        """Gives how many partitions there are, and what each of them gets of the operands."""
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["in_shardings"]).shardings
        partitions = self._check(op)
        parts: list[list[Value]] = [[] for _ in range(partitions)]
        for number, (value, sharding) in enumerate(zip(values, shardings, strict=True)):
            type_ = op.operands[number].type
            counts, indices = self._shards(sharding, partitions, type_)
            made: dict[ShardIndex, Value] = {}
            for partition, index in enumerate(indices):
                if index not in made:
                    made[index] = self._part(op, number, value, type_, counts, index)
                parts[partition].append(made[index])
        return partitions, parts

    def join(self, op: ir.Operation, parts: Sequence[Sequence[Value]]) -> list[Value]:
        """Puts the whole results together; of partitions that hold the same part, the last one counts."""
        shardings = sdy.TensorShardingPerValueAttr(op.attributes["out_shardings"]).shardings
        given = terminator(op.regions[0].blocks[0]).operands
        results = []
        for number, sharding in enumerate(shardings):
            counts, indices = self._shards(sharding, len(parts), op.results[number].type)
            held = {index: parts[partition][number] for partition, index in enumerate(indices)}
            ordered = [held[index] for index in sorted(held)]

            def build(arguments: Sequence[ir.Value], counts: Counts = counts) -> list[ir.Value]:
                pieces = list(arguments)
                for dimension in reversed(range(len(counts))):
                    count = counts[dimension]
                    rows = [pieces[start : start + count] for start in range(0, len(pieces), count)]
                    pieces = [row[0] if len(row) == 1 else stablehlo.concatenate(row, dimension) for row in rows]
                return pieces

            types = [given[number].type] * len(ordered)
            results += self._evaluator.built((op, "join", number), build, types, ordered)
        return results

    def _check(self, op: ir.Operation) -> int:
        """Counts the partitions of the one mesh that all shardings name. Raises NotRunnableError."""
        meshes = [
            self._mesh(sharding)
            for name in ("in_shardings", "out_shardings")
            for sharding in sdy.TensorShardingPerValueAttr(op.attributes[name]).shardings
        ]
        if not meshes or any(str(mesh) != str(meshes[0]) for mesh in meshes):
            raise NotRunnableError("a manual computation is over no mesh, or over several")
        axes = sdy.ManualAxesAttr(op.attributes["manual_axes"])
        manual = {str(axes[number]).strip('"') for number in range(len(axes))}
        sizes = {axis.name: axis.size for axis in map(sdy.MeshAxisAttr, meshes[0].axes)}
        if any(size > 1 for name, size in sizes.items() if name not in manual):
            raise NotRunnableError("a manual computation leaves some axes of its mesh to Shardy")
        return math.prod(sizes.values())

    def _mesh(self, sharding: ir.Attribute) -> sdy.MeshAttr:
        name = sdy.TensorShardingAttr(sharding).mesh_or_ref
        if isinstance(name, ir.FlatSymbolRefAttr):
            return self._meshes[name.value]
        return sdy.MeshAttr(name)

    def _shards(self, sharding: ir.Attribute, partitions: int, type_: ir.Type) -> tuple[Counts, list[ShardIndex]]:
        """Gives into how many parts each dimension is cut, and the index of each partition's part."""
        mesh = self._mesh(sharding)
        names = [sdy.MeshAxisAttr(axis).name for axis in mesh.axes]
        sizes = [sdy.MeshAxisAttr(axis).size for axis in mesh.axes]
        dimensions = []
        for dimension in map(sdy.DimensionShardingAttr, sdy.TensorShardingAttr(sharding).dimension_shardings):
            axes = [sdy.AxisRefAttr(axis) for axis in dimension.axes]
            if any(axis.sub_axis_info is not None for axis in axes):
                raise NotRunnableError("a sharding takes part of an axis")
            dimensions.append([names.index(axis.name) for axis in axes])
        counts = tuple(math.prod(sizes[axis] for axis in axes) for axes in dimensions)
        shape = ir.RankedTensorType(type_).shape
        if any(length % count for length, count in zip(shape, counts, strict=True)):
            raise NotRunnableError("a sharding does not divide its array evenly")
        indices: list[ShardIndex] = [()] * partitions
        device_ids = list(mesh.device_ids) or list(range(partitions))
        for position, device in enumerate(device_ids):
            coordinates = _unravel(position, sizes)
            indices[device] = tuple(_ravel(coordinates, sizes, axes) for axes in dimensions)
        return counts, indices

    def _part(
        self, op: ir.Operation, number: int, value: Value, type_: ir.Type, counts: Counts, index: ShardIndex
    ) -> Value:
        if set(counts) <= {1}:
            return value
        shape = ir.RankedTensorType(type_).shape
        lengths = [length // count for length, count in zip(shape, counts, strict=True)]
        start = [at * length for at, length in zip(index, lengths, strict=True)]
        limit = [first + length for first, length in zip(start, lengths, strict=True)]

        def build(arguments: Sequence[ir.Value]) -> list[ir.Value]:
            return [stablehlo.slice(arguments[0], start, limit, [1] * len(start))]

        return self._evaluator.built((op, "split", number, index), build, [type_], [value])[0]


def _unravel(position: int, sizes: Sequence[int]) -> list[int]:
    coordinates = []
    for size in reversed(sizes):
        position, coordinate = divmod(position, size)
        coordinates.append(coordinate)
    return coordinates[::-1]


def _ravel(coordinates: Sequence[int], sizes: Sequence[int], axes: Sequence[int]) -> int:
    position = 0
    for axis in axes:
        position = position * sizes[axis] + coordinates[axis]
    return position
