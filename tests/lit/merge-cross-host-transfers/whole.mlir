// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=group --topology=2x2 > %t.mlir 2>%t.remarks
// RUN: cat %t.mlir %t.remarks | FileCheck %s

// XLA is told to keep the call of a group whole. XLA of jaxlib 0.10.2 would not compile that in a loop; there the call is
// left to be inlined, which is said.
// CHECK: {{call @collectives_group.*_collectives_group = "", inlineable = "false"|call @collectives_group.*_collectives_group = ""}}}
// CHECK: remark: {{MCT015: This version of XLA takes the group apart again|MCT001}}
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
