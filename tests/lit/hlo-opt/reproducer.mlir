// RUN: not %plugins hlo-opt %s --canonicalize-permutes --refuse --mlir-pass-pipeline-crash-reproducer=%t.repro --topology=2x2 2>%t.first
// RUN: FileCheck %s < %t.first
// RUN: FileCheck %s --check-prefix=FILE < %t.repro
// RUN: not %plugins hlo-opt --run-reproducer %t.repro 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not hlo-opt --run-reproducer %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hlo-opt --run-reproducer %t.repro --cse 2>&1 | FileCheck %s --check-prefix=BOTH

// When a pass fails, the module as it came in, the pipeline, the topology and the versions are kept.
// CHECK: hlo-opt: note: 'hlo-opt --run-reproducer {{.*}}.repro' shows the failure again
// CHECK-NEXT: hlo-opt: error: refuse:
// FILE: // hlo-opt reproducer: refuse:
// FILE-NEXT: // hloverlap {{[0-9.]+}}
// FILE-NEXT: // jaxlib {{[0-9.]+}}
// FILE-NEXT: // python {{[0-9.]+}}
// FILE-NEXT: // run: hlo-opt --run-reproducer
// FILE: source_target_pairs = dense<{{\[\[}}3, 0], [0, 1], [1, 2], [2, 3]]>
// FILE: mlir_reproducer: {
// FILE-NEXT: pipeline: "builtin.module(canonicalize-permutes,refuse)",
// FILE-NEXT: topology: "2x2",
// FILE-NEXT: verify_each: true
// AGAIN: CPE001
// AGAIN: hlo-opt: error: refuse:
// NONE: reproducer.mlir: no reproducer: a module that ends with an mlir_reproducer among its external resources
// BOTH: --run-reproducer takes the pipeline from the file: give no passes

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[3, 0], [0, 1], [1, 2], [2, 3]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.negate %x : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = stablehlo.add %0, %2 : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}
