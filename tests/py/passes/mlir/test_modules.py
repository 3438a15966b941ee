"""A module as a whole."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from hloverlap.passes.mlir.dialects import make_context
from hloverlap.passes.mlir.modules import (
    DeviceCounts,
    bytecode,
    copy_of,
    device_counts,
    entry_function,
    keep_arguments,
    keep_results,
    signature,
    uses_shardy,
)
from hloverlap.passes.mlir.symbols import symbol_name

TEXT = """
func.func @main(%a: tensor<f32> {a.b}, %b: tensor<i32> {a.c}) -> (tensor<f32> {a.d}, tensor<i32> {a.e}) {
  return %a, %b : tensor<f32>, tensor<i32>
}
func.func private @other()"""


@pytest.mark.parametrize(
    ("attributes", "counts", "devices", "topology"),
    [
        ("", DeviceCounts(None, None), 1, None),
        ("mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32", DeviceCounts(1, 8), 8, 8),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32", DeviceCounts(8, 1), 8, 8),
        ("mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32", DeviceCounts(2, 4), 8, 4),
        ("mhlo.num_partitions = 4 : i32", DeviceCounts(None, 4), 4, 4),
        ("mhlo.num_replicas = 2 : i32", DeviceCounts(2, None), 2, 2),
        ("mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32", DeviceCounts(1, 1), 1, 1),
        ("mhlo.num_partitions = 0 : i32, mhlo.num_replicas = -1 : i32", DeviceCounts(None, None), 1, None),
    ],
)
def test_a_module_is_for_as_many_devices_as_it_says(
    attributes: str, counts: DeviceCounts, devices: int, topology: int | None
) -> None:
    module = ir.Module.parse(f"module attributes {{{attributes}}} {{}}", make_context())
    found = device_counts(module)
    assert found == counts == device_counts(module.operation)
    assert (found.devices, found.topology_size) == (devices, topology)
    assert (found.ids("replica"), found.ids("partition")) == counts


def test_a_copy_is_equal_and_apart(mlir: ir.Context) -> None:
    module = ir.Module.parse(TEXT)
    copy, elsewhere = copy_of(module), copy_of(module, make_context())
    assert bytecode(copy) == bytecode(module) == bytecode(module.operation)
    assert str(elsewhere) == str(module)
    assert elsewhere.context != module.context
    copy.operation.attributes["a.b"] = ir.UnitAttr.get()
    assert bytecode(copy) != bytecode(module)


def test_the_entry_is_main_wherever_it_stands(mlir: ir.Context) -> None:
    module = ir.Module.parse(f"func.func private @before()\n{TEXT}")
    main = entry_function(module)
    assert main is not None
    assert symbol_name(main) == "main"
    assert [str(each) for each in signature(main).inputs] == ["tensor<f32>", "tensor<i32>"]
    assert entry_function(ir.Module.parse("func.func private @before()")) is None


def test_arguments_and_results_go_with_their_attributes(mlir: ir.Context) -> None:
    module = ir.Module.parse(TEXT)
    main = entry_function(module)
    assert main is not None
    keep_results(main, [1])
    keep_arguments(main, [1])
    assert module.operation.verify()
    assert "func.func @main(%arg0: tensor<i32> {a.c}) -> (tensor<i32> {a.e})" in str(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("module {}", False),
        ('module {sdy.mesh @mesh = <["x"=2]>}', True),
        ('module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{}"}} {}', True),
        ('module attributes {mhlo.frontend_attributes = {other = "{}"}} {}', False),
        (
            "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {"
            '%b = sdy.sharding_constraint %a <mesh<["x"=2]>, [{"x"}]> : tensor<2xf32> return %b : tensor<2xf32>}',
            True,
        ),
    ],
)
def test_shardings_are_shardys_where_its_dialect_or_its_attributes_are(text: str, expected: bool) -> None:
    assert uses_shardy(ir.Module.parse(text, make_context())) == expected
