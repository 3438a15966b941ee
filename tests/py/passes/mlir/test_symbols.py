"""Names in a module, and who calls whom."""

from __future__ import annotations

from jaxlib.mlir import ir

from hloverlap.passes.mlir.symbols import CALLS, Symbols
from hloverlap.passes.mlir.walk import ops_in

TEXT = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = call @outer(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = call @plain(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %d = call @missing(%c) : (tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func private @outer(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = stablehlo.composite "a.b" %a {decomposition = @inner} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = stablehlo.sine %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @plain(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = call @plain(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @missing(tensor<4xf32>) -> tensor<4xf32>"""


def test_what_leads_to_a_function_by_calls_is_found(mlir: ir.Context) -> None:
    module = ir.Module.parse(TEXT)
    symbols = Symbols(module.operation)
    assert symbols.leading_to(["inner"]) == {"main", "outer", "inner"}
    assert symbols.leading_to([]) == frozenset()
    assert symbols.callees("main") == ["outer", "plain", "missing"]
    assert symbols.callees("nobody") == []


def test_calls_of_both_kinds_are_redirected(mlir: ir.Context) -> None:
    parsed = ir.Module.parse(TEXT)
    module = parsed.operation
    symbols = Symbols(module)
    for call in ops_in(module, *CALLS):
        symbols.redirect(call, "plain")
    assert module.verify()
    assert {symbols.callee(call) for call in ops_in(module, *CALLS)} == {"plain"}


def test_a_new_name_is_nobodys_not_even_a_meshs(mlir: ir.Context) -> None:
    module = ir.Module.parse('sdy.mesh @unpack = <["x"=2]>\nfunc.func private @unpack_0()')
    symbols = Symbols(module.operation)
    assert [symbols.unused("unpack") for _ in range(2)] == ["unpack_1", "unpack_2"]
    assert [symbols.unused("other") for _ in range(2)] == ["other", "other_0"]
