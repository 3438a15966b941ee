"""Finds which part of a whole array each partition works on in Shardy's manual computations."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo

from hloverlap.passes.mlir.meshes import AxisPart, Mesh, Meshes
from hloverlap.passes.mlir.walk import terminator
from hloverlap.pipeline.equivalence.entry import NotRunnableError
from hloverlap.pipeline.equivalence.interpreter.op_eval import Evaluator, Value

Counts = tuple[int, ...]  # into how many parts each dimension is cut
ShardIndex = tuple[int, ...]  # for each dimension, which of its parts


class ManualComputations:
    """Splits and joins the arrays of manual computations. All axes of the mesh must be manual."""

    def __init__(self, module: ir.Module, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._meshes = Meshes(module.operation)

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
        if not meshes or any(mesh != meshes[0] for mesh in meshes):
            raise NotRunnableError("a manual computation is over no mesh, or over several")
        axes = sdy.ManualAxesAttr(op.attributes["manual_axes"])
        manual = {str(axes[number]).strip('"') for number in range(len(axes))}
        if any(size > 1 for name, size in meshes[0].sizes.items() if name not in manual):
            raise NotRunnableError("a manual computation leaves some axes of its mesh to Shardy")
        return len(meshes[0].device_ids)

    def _mesh(self, sharding: ir.Attribute) -> Mesh:
        return self._meshes.of(sdy.TensorShardingAttr(sharding).mesh_or_ref)

    def _shards(self, sharding: ir.Attribute, partitions: int, type_: ir.Type) -> tuple[Counts, list[ShardIndex]]:
        """Gives into how many parts each dimension is cut, and the index of each partition's part."""
        mesh = self._mesh(sharding)
        dimensions = [
            [AxisPart.of(axis) for axis in sdy.DimensionShardingAttr(dimension).axes]
            for dimension in sdy.TensorShardingAttr(sharding).dimension_shardings
        ]
        counts = tuple(map(mesh.length, dimensions))
        shape = ir.RankedTensorType(type_).shape
        if any(length % count for length, count in zip(shape, counts, strict=True)):
            raise NotRunnableError("a sharding does not divide its array evenly")
        places = [mesh.places(axes) for axes in dimensions]
        return counts, [tuple(each[partition] for each in places) for partition in range(partitions)]

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
