// --check runs input and output on virtual CPU devices, with random inputs, and compares every bit.
// RUN: hlo-opt %s --cse --check 2>&1 | FileCheck %s
// CHECK: check.mlir: check: equal: the same bits on 3 random inputs
// CHECK: func.func public @main

// Where they differ it says where, exits with 3 and writes nothing.
// RUN: not %plugins hlo-opt %s --detune --check -o %t.none 2>&1 | FileCheck %s --check-prefix=DIFFERENT
// RUN: not ls %t.none
// DIFFERENT: check.mlir: check: different:

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
