// The same permute made twice by one line: the remark at that line speaks of the other one.
// RUN: hlo-opt %s --canonicalize-permutes 2>&1 >/dev/null | FileCheck %s
// CHECK: shifts.py:14: remark: CPE003: Removed: it sends the same value the same way as another collective_permute of this line.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    %1 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
