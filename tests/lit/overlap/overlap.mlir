// RUN: hlo-opt %s --overlap --topology=2x2 --target=cpu 2>/dev/null > %t.once.mlir
// RUN: FileCheck %s < %t.once.mlir

// The pipeline: pairs sorted, what crosses hosts merged, streams for what can still run side by side.
// CHECK: "stablehlo.collective_permute"({{.*}}[0, 2], [1, 3], [2, 0], [3, 1]{{.*}}_xla_stream_annotation = "[[S1]]"{{.*}}tensor<16xf32>
// CHECK: "stablehlo.collective_permute"({{.*}}[0, 1], [1, 0], [2, 3], [3, 2]{{.*}}_xla_stream_annotation = "[[S2]]"{{.*}}tensor<8xf32>

// It is what its name says.
// RUN: hlo-opt %s --pass-pipeline='builtin.module(canonicalize-permutes,merge-cross-host-transfers,assign-collective-streams)' --topology=2x2 --target=cpu 2>/dev/null | cmp - %t.once.mlir

// Running it on what it made changes nothing, and another hash seed makes the same bytes.
// RUN: hlo-opt %t.once.mlir --overlap --topology=2x2 --target=cpu 2>/dev/null | cmp - %t.once.mlir
// RUN: env PYTHONHASHSEED=7 hlo-opt %s --overlap --topology=2x2 --target=cpu 2>/dev/null | cmp - %t.once.mlir

// A module with nothing to gain comes out as it went in.
// RUN: hlo-opt %samples/gpipe.mlir 2>/dev/null > %t.gpipe.mlir
// RUN: hlo-opt %samples/gpipe.mlir --overlap --topology=2x4 2>/dev/null | cmp - %t.gpipe.mlir
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1], [0, 2], [1, 3]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
