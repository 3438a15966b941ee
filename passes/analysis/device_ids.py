"""Where a program may ask which device it runs on."""

from __future__ import annotations

from collections.abc import Iterable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from hloverlap.passes.analysis.collectives import device_count
from hloverlap.passes.analysis.symbols import Symbols
from hloverlap.passes.topology import Pair


class DeviceIds:
    """Answers where ``partition_id`` and ``replica_id`` mean what the ids of a permute's pairs mean.

    XLA refuses a ``partition_id`` in what it has still to partition, so it may only stand in a manual computation over
    all axes of the mesh, or in a function that is called from nowhere else. A ``replica_id`` may stand anywhere.
    """

    def __init__(self, module: ir.Operation, symbols: Symbols) -> None:
        self._symbols = symbols
        self._module = module
        self._meshes = {
            str(ir.StringAttr(view.operation.attributes["sym_name"]).value): view.operation.attributes["mesh"]
            for view in module.regions[0].blocks[0].operations
            if view.operation.name == "sdy.mesh"
        }
        self._calls: dict[str, list[ir.Operation]] = {}
        for function in symbols.functions.values():
            function.walk(self._note_call)
        self._manual_functions: dict[str, bool] = {}

    def count(self, mode: str) -> int:
        """How many ids there are in a mode of a permute; 0 where the module does not say."""
        return device_count(self._module, mode)

    def objection(self, op: ir.Operation, mode: str, pairs: Iterable[Pair]) -> str:
        """Why nothing can be made to depend on the device's id where `op` stands, as a clause; "" if it can."""
        count = self.count(mode)
        if not count:
            return f"the module does not give the number of {mode}s"
        if any(not 0 <= number < count for pair in pairs for number in pair):
            return f"its pairs name more than the {count} {mode}s that there are"
        if mode == "partition" and not self._is_manual(op):
            return "a device cannot ask for its partition id outside of a computation that is manual over all axes"
        return ""

    def _note_call(self, op: ir.Operation) -> ir.WalkResult:
        if (callee := self._symbols.callee(op)) is not None:
            self._calls.setdefault(callee, []).append(op)
        return ir.WalkResult.ADVANCE

    def _is_manual(self, op: ir.Operation) -> bool:
        """Whether the op, in every execution, runs once for each device."""
        manual: set[str] = set()
        while op.name != "func.func":
            if op.name == "sdy.manual_computation":
                axes = sdy.ManualAxesAttr(op.attributes["manual_axes"])
                manual.update(str(axes[number]).strip('"') for number in range(len(axes)))
                if (mesh := self._mesh_axes(op)) and manual.issuperset(mesh):
                    return True
            if op.parent is None:
                return False
            op = op.parent.operation
        return self._is_manual_function(str(ir.StringAttr(op.attributes["sym_name"]).value))

    def _is_manual_function(self, name: str) -> bool:
        if name not in self._manual_functions:
            self._manual_functions[name] = False  # what a recursive function would find
            calls = self._calls.get(name, [])
            self._manual_functions[name] = bool(calls) and all(map(self._is_manual, calls))
        return self._manual_functions[name]

    def _mesh_axes(self, computation: ir.Operation) -> list[str]:
        """Axes of the one mesh that a manual computation is over; none where that is not clear."""
        meshes = {
            str(sharding.mesh_or_ref): self._mesh(sharding.mesh_or_ref)
            for name in ("in_shardings", "out_shardings")
            for sharding in map(
                sdy.TensorShardingAttr, sdy.TensorShardingPerValueAttr(computation.attributes[name]).shardings
            )
        }
        if len(meshes) != 1:
            return []
        (mesh,) = meshes.values()
        return [sdy.MeshAxisAttr(axis).name for axis in mesh.axes] if mesh is not None else []

    def _mesh(self, mesh_or_ref: ir.Attribute) -> sdy.MeshAttr | None:
        if isinstance(mesh_or_ref, ir.FlatSymbolRefAttr):
            return sdy.MeshAttr(self._meshes[mesh_or_ref.value]) if mesh_or_ref.value in self._meshes else None
        return sdy.MeshAttr(mesh_or_ref)
