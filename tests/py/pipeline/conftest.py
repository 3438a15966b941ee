"""One module in every format, made by jax and jaxlib alone."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.pipeline.formats import conversion, convert_child, table
from hloverlap.pipeline.formats.format import Format

PERMUTE = """\
module @ring attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] \
manual_axes={"x"} (%arg1: tensor<4xf32>) {
      %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, \
source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> \
{mhlo.frontend_attributes = {_xla_stream_annotation = "3"}} : (tensor<4xf32>) -> tensor<4xf32>
      %2 = stablehlo.add %1, %arg1 : tensor<4xf32>
      sdy.return %2 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}
"""


@dataclasses.dataclass(frozen=True)
class Exported:
    """An artifact of a function with a permute, which carries its vjp, and what it computes.

    argument, result: of one call.
    """

    artifact: bytes
    argument: Any
    result: Any


@pytest.fixture(scope="session")
def exported() -> Exported:
    """What jax.export makes of a permute and a sine on four devices."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import export
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((4,), ("x",), devices=jax.devices()[:4])
    spec = PartitionSpec("x")

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=spec, out_specs=spec)
    def ring(block: jax.Array) -> jax.Array:
        return jnp.sin(jax.lax.ppermute(block, "x", [(i, (i + 1) % 4) for i in range(4)])) + block

    argument = jax.device_put(np.arange(16, dtype=np.float32), NamedSharding(mesh, spec))
    artifact = bytes(export.export(ring)(argument).serialize(vjp_order=1))
    return Exported(artifact, argument, np.asarray(ring(argument)))


@pytest.fixture(scope="session")
def encoded(exported: Exported) -> dict[Format, bytes]:
    """A module with a permute in every format; the artifact's is another one than the rest's."""
    from jaxlib import _hlo, _jax
    from jaxlib.mlir.dialects import stablehlo

    context = make_context()
    module = ir.Module.parse(PERMUTE, context)
    image = io.BytesIO()
    module.operation.write_bytecode(image)
    bytecode = image.getvalue()
    computation = _jax.mlir.mlir_module_to_xla_computation(bytecode, use_tuple_args=False, return_tuple=False)
    hlo = computation.as_hlo_module().to_string(_hlo.HloPrintOptions.short_parsable())
    header, rest = hlo.split("\n", 1)
    return {
        table.MLIR_TEXT: PERMUTE.encode(),
        table.MLIR_BYTECODE: bytecode,
        table.PORTABLE: stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version(), True),
        table.EXPORT: exported.artifact,
        table.HLO_TEXT: f"{header}, num_partitions=4\n{rest}".encode(),  # as XLA's own dumps say it
        table.HLO_PROTO: computation.as_serialized_hlo_module_proto(),
    }


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversions of input that is known to be sound, without the process that each takes otherwise."""

    def convert(conversion: str, data: bytes, allow_unregistered: bool = False) -> bytes:
        return convert_child.CONVERSIONS[conversion](data, make_context(allow_unregistered))

    monkeypatch.setattr(conversion, "convert", convert)
