// What cannot be run here, as a call into the process that made it, is not different: it is not checked. The output is
// written, and the exit status is one of its own, 6.
// RUN: not hlo-opt %s --cse --check -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s < %t.mlir
// SAID: check-not-run.mlir: warning: check: not checked, and written all the same: not run: custom call xla_ffi_python_cpu_callback holds a pointer
// CHECK: func.func public @main
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
