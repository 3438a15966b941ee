// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Large permutes with the same pairs: packing would copy too much, and XLA:GPU joins them by itself.
// CHECK-LABEL: func.func public @large_same_pairs
// CHECK-COUNT-2: collective_permute{{.*}}tensor<65536xf32>
// REMARK: Not merged: XLA:GPU joins the 2 with the same pairs by itself.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @large_same_pairs(%arg0: tensor<65536xf32>, %arg1: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    return %0, %1 : tensor<65536xf32>, tensor<65536xf32>
  }
}

// -----

// One that is ready at once is not held back for one that has to wait for a matmul.
// CHECK-LABEL: func.func public @ready_at_different_times
// CHECK: collective_permute
// CHECK: dot_general
// CHECK: collective_permute
// REMARK: Not merged: no other one that it could be merged with is ready at the same time.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @ready_at_different_times(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
