// RUN: hlo-opt %s --overlap --check -o /dev/null 2>&1 | FileCheck %s

// What a module does not say of its devices, a check takes from its collectives.

// CHECK: check: equal: the same bits on 3 random inputs

module {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
