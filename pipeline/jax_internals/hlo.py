"""Reads and writes HLO modules, with jaxlib alone: nothing here imports jax, which takes half a second."""

from __future__ import annotations

from typing import Any, TypeAlias

Tiles: TypeAlias = tuple[list[int], list[int]]


def can_annotate() -> bool:
    """Says whether instructions take frontend attributes; those of jaxlib 0.10.2 do not."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return hasattr(_hlo.HloInstruction, "set_frontend_attribute")


def from_proto(proto: bytes) -> Any:
    """Reads a serialized HloModuleProto as jaxlib's HloModule. Raises what jaxlib raises for what is no HLO."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return _hlo.HloModule.from_serialized_hlo_module_proto(proto)


def from_text(text: str) -> Any:
    """Reads HLO text as jaxlib's HloModule. Raises what jaxlib raises for what is no HLO."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    return _hlo.hlo_module_from_text(text)


def to_proto(module: Any) -> bytes:
    """Writes an HloModule as a serialized HloModuleProto."""
    proto: bytes = module.as_serialized_hlo_module_proto()
    return proto


def permutes(module: Any) -> list[Any]:
    """Lists the collective permutes of an HloModule, in its order."""
    from jaxlib import _hlo  # type: ignore[attr-defined]

    permute = _hlo.HloOpcode.kCollectivePermute
    return [each for inside in module.computations() for each in inside.instructions() if each.opcode == permute]


def proto_to_stablehlo(proto: bytes) -> bytes:
    """Converts a serialized HloModuleProto to MLIR bytecode.

    Frontend attributes stay; the channels' type does not. Raises RuntimeError or ValueError.
    """
    from jaxlib import _jax

    converted: bytes = _jax.mlir.hlo_to_stablehlo(proto)
    return converted


def stablehlo_to_text(bytecode: bytes, metadata: bool) -> str:
    """Converts MLIR bytecode to HLO text. metadata: with each instruction's name and source line.

    Raises RuntimeError or ValueError.
    """
    from jaxlib import _hlo, _jax  # type: ignore[attr-defined]

    computation = _jax.mlir.mlir_module_to_xla_computation(bytecode, use_tuple_args=False, return_tuple=False)
    options = _hlo.HloPrintOptions.short_parsable()
    options.print_metadata = metadata
    return str(computation.as_hlo_module().to_string(options))


def shardings(proto: bytes) -> tuple[list[Tiles | None], list[Tiles | None]]:
    """Reads how a partitioned HloModuleProto divides its arguments and its results.

    Each is (the number of tiles along each dimension, the partitions in the order of the tiles); both empty for what
    every device holds whole, and None for another kind. XLA may abort the process.
    """
    from jaxlib import _hlo  # type: ignore[attr-defined]

    module = from_proto(proto)
    arguments = [_tiles(_hlo.HloSharding.from_proto(each)) for each in module.spmd_parameters_shardings or ()]
    if module.spmd_output_sharding is None:
        return arguments, []
    output = _hlo.HloSharding.from_proto(module.spmd_output_sharding)
    results = output.tuple_elements() if str(output).startswith("{{") else [output]
    return arguments, [_tiles(each) for each in results]


def _tiles(sharding: Any) -> Tiles | None:
    from jaxlib import _hlo  # type: ignore[attr-defined]

    if sharding.is_replicated():
        return [], []
    if sharding.is_maximal() or sharding.is_manual() or sharding.is_unknown() or sharding.is_unreduced():
        return None
    sharding = _hlo.HloSharding.v3_to_v2_sharding(sharding)
    if sharding.is_replicated():
        return [], []
    kinds = sharding.subgroup_types()
    replicates = sharding.replicate_on_last_tile_dim()
    if not replicates and any("REPLICATED" not in str(kind).upper() for kind in kinds):
        return None
    beside = len(kinds) or int(replicates)
    dimensions = list(sharding.tile_assignment_dimensions())
    return dimensions[: len(dimensions) - beside], list(sharding.tile_assignment_devices())
