// What XLA will not compile is a finding with XLA's words and the op. One module: exit 4.

// RUN: not hlo-audit %s --no-cache > %t
// RUN: FileCheck %s --input-file=%t
// CHECK: failures.mlir:19: error: HLA001: XLA aborted: Check failed: {{.*}} [#0: The stream annotation '1.5' is no decimal number of 32 bits: XLA aborts the process. Give a number from [[S1]] up.]
// CHECK-NEXT: hint: HLA103: #0: The stream annotation '1.5' is no decimal number of 32 bits: XLA aborts the process. Give a number from [[S1]] up.
// CHECK-NOT: totals

// RUN: not hlo-audit %s --no-cache --format=sarif > %t.sarif
// RUN: FileCheck %s --check-prefix=SARIF --input-file=%t.sarif
// SARIF: "version": "2.1.0"
// SARIF: "name": "hlo-audit"
// SARIF: "ruleId": "HLA001"
// SARIF-NEXT: "level": "error"
// SARIF: "startLine": 19

module @bad attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
    %0 = "stablehlo.collective_permute"(%a) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>
    }> {mhlo.frontend_attributes = {_xla_stream_annotation = "1.5"}} : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
      : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
  }
}
