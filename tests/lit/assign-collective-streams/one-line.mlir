// Two permutes that a function of one line makes in two calls: the remark at that line speaks of the other one.
// RUN: hlo-opt %s --assign-collective-streams 2>&1 >/dev/null | FileCheck %s
// CHECK: shifts.py:14: remark: ACS001: Put on stream [[S1]]: it can be in flight with another collective_permute of this line.
// CHECK: shifts.py:14: remark: ACS001: Put on stream [[S2]]: it can be in flight with another collective_permute of this line.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    %1 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2], [0, 3]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32> loc("shifts.py":14:3)
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
