// A collective that the program starts and ends itself, by two custom calls, stays on XLA's stream 0: it drops what an
// annotation says. It can be in flight with others, so a permute between the two gets a stream of its own.

// RUN: hlo-opt %s --overlap --topology=1x4 2>%t.remarks > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// It stays where it is written, and what is between start and done stays there.
// CHECK: %[[START:.+]] = stablehlo.custom_call @"collective-permute-start"(%arg0)
// CHECK-NEXT: "stablehlo.collective_permute"({{.*}}_xla_stream_annotation = "[[S1]]"
// CHECK-NEXT: stablehlo.custom_call @"collective-permute-done"(%[[START]])
// REMARK: 18: remark: ACS013: Left as it is: written as a start and a done, it runs on XLA's stream 0, and loses any annotation.
// REMARK: 19: remark: ACS001: Put on stream [[S1]]: it can be in flight with the custom_call of line 18.
// REMARK: XLA_FLAGS="--xla_gpu_experimental_parallel_collective_overlap_limit=2"

module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.custom_call @"collective-permute-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22permutation\22: [[0, 1], [1, 2], [2, 3], [3, 0]], \22channel_id\22: 1}"}} : (tensor<16xf32>) -> tensor<16xf32>
    %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    %2 = stablehlo.custom_call @"collective-permute-done"(%0) : (tensor<16xf32>) -> tensor<16xf32>
    return %1, %2 : tensor<16xf32>, tensor<16xf32>
  }
}
