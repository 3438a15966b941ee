// RUN: hlo-opt %s --emit=bytecode -o %t.bc
// RUN: hlo-opt %t.bc --overlap --topology=2x2 --emit=mlir 2>&1 | FileCheck %s

// A string that is empty, such as the mark of a group, is read from bytecode as well as from text.
// CHECK: ACS005: Left as it is: a group of collectives runs on XLA's stream 0
// CHECK: call @pair(%arg0, %arg1) {mhlo.frontend_attributes = {_collectives_group = ""{{.*}}}}

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @pair(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 2], [2, 0]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[1, 3], [3, 1]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0:2 = call @pair(%x, %y) {mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}}
      : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
  }
}
