// XLA:CPU, on virtual devices: it runs collectives in turn. This needs no gpu extra.

// RUN: hlo-audit %s --target=cpu --no-cache --format=json | FileCheck %s
// CHECK: "target": "cpu"
// CHECK: "synchronous": 1
// CHECK: "kind": "all_reduce"
// CHECK: "stream": "main"
// CHECK: "lost": "XLA:CPU runs collectives in turn, on the threads that compute"

// RUN: not hlo-audit %s --target=cpu --no-cache --fail-on='synchronous>0' --fail-on='launches>9' 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: hlo-audit: over budget: synchronous is 1, and synchronous>0 is not allowed
// BUDGET-NOT: over budget

module @sum attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids
    }> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
