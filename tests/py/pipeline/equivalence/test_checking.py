"""`checking.check`: two modules run in a process of their own, and every bit of every device's result is compared."""

import re
import sys

import pytest

from hloverlap.pipeline import run
from hloverlap.pipeline.equivalence import checking
from hloverlap.pipeline.equivalence.checking import CheckResult, check
from support.permutes import permute
from support.small_modules import FORWARD


def replica_ring(pairs=FORWARD, dtype="f32", shape="2x3", between="", value="%1"):
    """Four replicas each send their block to the next; `between` may do more to %1, to give `value`."""
    block = f"tensor<{shape}x{dtype}>"
    return f"""module @ring attributes {{mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32}} {{
  func.func public @main(%arg0: {block}) -> {block} {{
    {permute("%1", "%arg0", pairs, block, channel=None)}
    {between}
    return {value} : {block}
  }}
}}""".encode()


SWAPPED = [[0, 2], [1, 1], [2, 3], [3, 0]]


def test_a_module_equals_itself_in_replica_mode():
    stages = []
    result = check(replica_ring(), replica_ring(), progress=stages.append)
    assert (result.status, result.runs, result.reason) == ("equal", 3, "")
    assert stages[0] == "compiling the original"
    assert "running the rewritten module on special inputs, seed 2" in stages


def test_swapped_pairs_are_found_where_they_arrive():
    result = check(replica_ring(), replica_ring(pairs=SWAPPED))
    assert result.status == "different"
    assert re.match(
        r"on ordinary inputs, seed 0, result 0 on device 1 differs at \[0, 0\]: \S+ \(0x\w{8}\)", result.reason
    )
    assert "6 of 6 elements" in result.reason


def test_a_quieted_nan_is_found():
    """Only special inputs have NaNs, and only the bits tell one from another."""
    canonical = """%nan = stablehlo.constant dense<0x7FC00000> : tensor<64x3xf32>
    %is = stablehlo.compare NE, %1, %1 : (tensor<64x3xf32>, tensor<64x3xf32>) -> tensor<64x3xi1>
    %2 = stablehlo.select %is, %nan, %1 : tensor<64x3xi1>, tensor<64x3xf32>"""
    result = check(replica_ring(shape="64x3"), replica_ring(shape="64x3", between=canonical, value="%2"))
    assert result.status == "different"
    assert "on special inputs" in result.reason
    assert "nan (0x7fc00000) in the rewritten module" in result.reason


def test_a_wrong_offset_is_found():
    shifted = """%a = stablehlo.slice %1 [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
    %2 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>"""
    result = check(replica_ring(), replica_ring(between=shifted, value="%2"))
    assert result.status == "different"
    assert "differs at [1, 0]" in result.reason


def test_partition_mode_and_both_modes_at_once():
    sharded = """module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
      func.func public @main(%a: tensor<4x6xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}, %b: tensor<f32>)
          -> (tensor<4x6xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) {
        %0 = stablehlo.replica_id : tensor<ui32>
        %1 = stablehlo.convert %0 : (tensor<ui32>) -> tensor<f32>
        %2 = stablehlo.add %1, %b : tensor<f32>
        %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
        %4 = stablehlo.OP %3, %a : tensor<4x6xf32>
        return %4 : tensor<4x6xf32>
      }
    }"""
    added = sharded.replace("OP", "add").encode()
    equal = check(added, added)
    assert equal.status == "equal", equal.reason
    assert "on device 0 " in check(added, sharded.replace("OP", "multiply").encode()).reason


DTYPES = ["i1", "i2", "ui4", "i8", "ui16", "i32", "ui64", "f8E4M3FN", "f8E5M2", "bf16", "f16", "f64", "complex<f64>"]


def exchange_of_all_types(last_pairs):
    """Two replicas exchange an array of each type; the pairs of the last one are given."""
    types = [f"tensor<8x{dtype}>" for dtype in DTYPES]
    pairs = [[[0, 1], [1, 0]]] * (len(types) - 1) + [last_pairs]
    permutes = [permute(f"%r{i}", f"%a{i}", pairs[i], type_, channel=None) for i, type_ in enumerate(types)]
    return f"""module attributes {{mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32}} {{
      func.func public @main({", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(types))}) -> ({", ".join(types)}) {{
        {" ".join(permutes)}
        return {", ".join(f"%r{i}" for i in range(len(types)))} : {", ".join(types)}
      }}
    }}""".encode()


def test_arguments_of_every_element_type_are_made_and_compared():
    exchange = exchange_of_all_types([[0, 1], [1, 0]])
    assert check(exchange, exchange).status == "equal"
    stay = check(exchange, exchange_of_all_types([[0, 0], [1, 1]]))
    assert "result 12 on device 0 differs at [0]" in stay.reason


def test_tokens_and_donation_are_no_hindrance():
    text = b"""module attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {
      func.func public @main(%t: !stablehlo.token, %a: tensor<4xf32> {tf.aliasing_output = 1 : i32},
          %b: tensor<4xf32> {jax.buffer_donor = true}) -> (!stablehlo.token, tensor<4xf32>) {
        %0 = stablehlo.add %a, %b : tensor<4xf32>
        return %t, %0 : !stablehlo.token, tensor<4xf32>
      }
    }"""
    assert check(text, text).status == "equal"
    assert check(text, text.replace(b"stablehlo.add", b"stablehlo.subtract")).status == "different"


def test_what_holds_a_pointer_into_another_process_is_not_run():
    call = """%2 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>"""
    module = replica_ring(between=call, value="%2")
    result = check(module, module)
    assert result.status == "not-run"
    assert "custom call xla_ffi_python_cpu_callback holds a pointer" in result.reason
    assert result.structure == ""
    assert str(result).endswith("the same data goes over the wire")


def test_what_is_not_run_is_at_least_counted():
    call = """%2 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%1) : (tensor<2x3xf32>) -> tensor<2x3xf32>"""
    result = check(replica_ring(between=call, value="%2"), replica_ring(SWAPPED, between=call, value="%2"))
    assert result.status == "not-run"
    assert "collective_permute" in result.structure


def test_a_module_that_takes_too_long_is_refused_before_it_is_compiled():
    huge = b"""module { func.func public @main(%a: tensor<65536x65536xbf16>) -> tensor<65536x65536xbf16> {
      %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
        : (tensor<65536x65536xbf16>, tensor<65536x65536xbf16>) -> tensor<65536x65536xbf16>
      return %0 : tensor<65536x65536xbf16>
    } }"""
    stages = []
    result = check(huge, huge, progress=stages.append)
    assert result.status == "not-run"
    assert "1.1e+15 floating-point operations" in result.reason
    assert stages == []


def test_a_module_that_needs_too_much_memory_is_not_run():
    huge = b"""module { func.func public @main(%a: tensor<1099511627776xf32>) -> tensor<1099511627776xf32> {
      return %a : tensor<1099511627776xf32>
    } }"""
    assert re.search(r"need \d+\.\d GiB and \d+\.\d GiB are free", check(huge, huge).reason)


ENDLESS = b"""module { func.func public @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%i = %a) : tensor<f32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      %1 = stablehlo.sine %i : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
  return %0 : tensor<f32>
} }"""
SINE = b"""module { func.func public @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.sine %a : tensor<f32>
  return %0 : tensor<f32>
} }"""


def test_an_original_without_end_is_not_run():
    result = check(ENDLESS, ENDLESS, time_limit=20)
    assert result.status == "not-run"
    stage = "running the original on ordinary inputs, seed 0"
    assert result.reason == f"while {stage}, the process was given up: no end within 20 s"


def test_a_rewritten_module_without_end_is_a_difference():
    result = check(SINE, ENDLESS, time_limit=25)
    assert result.status == "different"
    assert "running the rewritten module" in result.reason


def test_an_abort_of_the_rewritten_module_is_a_difference():
    """XLA:CPU cannot concatenate arguments of two-bit integers, and aborts."""
    module = """module { func.func public @main(%a: tensor<3xi2>) -> tensor<6xi2> {
      %zero = stablehlo.constant dense<0> : tensor<i2>
      %padded = stablehlo.pad %a, %zero, low = [0], high = [3], interior = [0]
        : (tensor<3xi2>, tensor<i2>) -> tensor<6xi2>
      %pasted = stablehlo.concatenate %a, %a, dim = 0 : (tensor<3xi2>, tensor<3xi2>) -> tensor<6xi2>
      return %RESULT : tensor<6xi2>
    } }"""
    result = check(module.replace("RESULT", "padded").encode(), module.replace("RESULT", "pasted").encode())
    assert result.status == "different"
    assert "while compiling the rewritten module, the process aborted: " in result.reason


def test_a_killed_process_is_not_run(monkeypatch):
    suicide = "import os; os.kill(os.getpid(), 9)"
    monkeypatch.setattr(checking, "_command", lambda folder: [sys.executable, "-c", suicide])
    result = check(SINE, SINE)
    assert result.status == "not-run"
    assert "the process was killed: SIGKILL, as when memory runs out" in result.reason


def test_other_arguments_are_a_difference():
    result = check(SINE, SINE.replace(b"f32", b"f64"))
    assert result == CheckResult("different", "the rewritten module takes other arguments, or other numbers of devices")


@pytest.mark.parametrize("strategy", ["group", "concat"])
def test_a_sample_equals_its_rewrite(samples, strategy):
    before = (samples / "halo_exchange.mlir").read_bytes()
    result = run(before, f"merge-cross-host-transfers{{strategy={strategy} scope=all}}", topology="2x4")
    assert result.changed
    assert check(before, str(result.module).encode()).status == "equal"


@pytest.mark.parametrize("strategy", ["group", "concat"])
def test_ring_attention_equals_its_rewrite(corpus, strategy):
    """Packed, XLA fuses otherwise, and another NaN survives an addition: no difference, as each op is the same."""
    before = (corpus / "ringattention_fwd.mlir").read_bytes()
    result = run(before, f"merge-cross-host-transfers{{strategy={strategy}}}", topology="2x4")
    assert result.changed
    checked = check(before, str(result.module).encode())
    assert (checked.status, checked.runs) == ("equal", 3)


def test_a_matmul_for_a_larger_machine_is_not_run(corpus):
    module = (corpus / "collective_matmul_4.mlir").read_bytes()
    result = check(module, module, time_limit=30)
    assert result.status == "not-run"
    assert "floating-point operations" in result.reason
    assert result.structure == ""
