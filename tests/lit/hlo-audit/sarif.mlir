// Findings as SARIF: one writer serves hlo-opt and hlo-audit, so a file name with a blank is quoted here, too.
// RUN: hlo-audit %s --target=cpu --no-cache --format=sarif | FileCheck %s
// CHECK: "name": "hlo-audit"
// CHECK: "shortDescription"
// CHECK: "ruleId": "HLA002"
// CHECK-NEXT: "level": "warning"
// CHECK: "uri": "a%20model.py"
// CHECK: "startLine": 43
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8xf32>) -> tensor<8xf32> loc("a model.py":43:1)
    return %0 : tensor<8xf32>
  }
}
