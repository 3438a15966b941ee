// RUN: hlo-opt %s --hoist-permutes=converts=false 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// XLA may leave out the rounding of two converts in a row (`xla_allow_excess_precision`), and hoisting changes what stands
// in a row. Who wants the same bits from that XLA too leaves the converts.
// CHECK: "stablehlo.collective_permute"({{.*}}tensor<1x16xf32>
// CHECK-NEXT: stablehlo.convert
// REMARK: remark: HSP001: Sends 64 bytes instead of 512: the slice after it is done first.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32>) -> tensor<1x16xbf16> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [7:8, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.convert %1 : (tensor<1x16xf32>) -> tensor<1x16xbf16>
    return %2 : tensor<1x16xbf16>
  }
}
