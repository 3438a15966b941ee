// A permute of a permute that one line makes, as a function that is called twice does: the remark at that line speaks
// of the other one.
// RUN: hlo-opt %s --compose-permutes 2>&1 >/dev/null | FileCheck %s
// CHECK: shifts.py:14: remark: CMP001: Made one with another collective_permute of this line, whose result it sent on
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    return %1 : tensor<4xf32>
  }
}
