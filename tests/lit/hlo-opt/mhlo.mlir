// Converters of JAX leave ops of XLA's own dialect, MHLO, where StableHLO has none: they are read as they are.
// RUN: hlo-opt %s | FileCheck %s --check-prefix=SAME
// SAME: mhlo.copy %arg0
// SAME: mhlo.erf
// SAME: mhlo.topk(%{{.*}}, k = 2)

// Passes know that these only compute values.
// RUN: hlo-opt %s --assign-collective-streams 2>&1 | FileCheck %s --check-prefix=STREAMS
// STREAMS-DAG: remark: ACS001: Put on stream [[S1]]: it can be in flight with the collective_permute
// STREAMS-DAG: remark: ACS001: Put on stream [[S2]]: it can be in flight with the collective_permute

// What is run or is to be read by others says the same in StableHLO and CHLO.
// RUN: hlo-opt %s --overlap --check 2>&1 | FileCheck %s --check-prefix=CHECK-BITS
// CHECK-BITS: check: equal: the same bits
// RUN: hlo-opt %s --emit=portable | hlo-opt --emit=mlir | FileCheck %s --check-prefix=PORTABLE
// PORTABLE-NOT: mhlo.copy
// PORTABLE: chlo.erf %arg0
// PORTABLE: chlo.top_k
// RUN: hlo-opt %s --emit=hlo | FileCheck %s --check-prefix=HLO
// HLO: erf(
// HLO: topk(

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
    %0 = mhlo.copy %arg0 : tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = mhlo.erf %0 : tensor<4xf32>
    %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.add %1, %3 : tensor<4xf32>
    %values, %indices = mhlo.topk(%4, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    return %4, %values : tensor<4xf32>, tensor<2xf32>
  }
}
