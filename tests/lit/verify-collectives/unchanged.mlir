// RUN: hlo-opt %s -o %t.before
// RUN: not hlo-opt %s --verify-collectives -o %t.after 2>&1 | FileCheck %s
// RUN: not test -e %t.after

// An error makes the command fail, and nothing is written.
// CHECK: unchanged.mlir:10: error: VCL001: The stream annotation 'fast' is no decimal number of 32 bits: XLA aborts the process.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "fast"}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
