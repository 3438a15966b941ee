// A collective that the program starts and ends itself is one of the module's, and not one that XLA added.

// UNSUPPORTED: jaxlib-0.10
// RUN: hlo-audit %s --no-cache | FileCheck %s
// CHECK: #0 {{.*}}async-pairs.mlir:13 {{.*}}collective_permute
// CHECK: #1 {{.*}}async-pairs.mlir:14 {{.*}}collective_permute
// CHECK-NOT: added
// CHECK: HLA004: #{{[01]}}: independent of #{{[01]}}, yet XLA runs them one after the other


module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.custom_call @"collective-permute-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22permutation\22: [[0, 1], [1, 2], [2, 3], [3, 0]], \22channel_id\22: 1}"}} : (tensor<16xf32>) -> tensor<16xf32>
    %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    %2 = stablehlo.custom_call @"collective-permute-done"(%0) : (tensor<16xf32>) -> tensor<16xf32>
    return %1, %2 : tensor<16xf32>, tensor<16xf32>
  }
}
