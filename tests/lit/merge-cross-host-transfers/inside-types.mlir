// RUN: hlo-opt %s --merge-cross-host-transfers --topology=1x1x4 --target=h200 2>&1 | FileCheck %s

// Several types inside a host: each would be packed by a kernel of its own, which costs more than it saves. XLA joins the
// two by itself.
// CHECK: remark: MCT014: Not merged: inside hosts, packing several types takes longer than the launches that it saves.
// CHECK: collective_permute{{.*}}tensor<8xf32>
// CHECK: collective_permute{{.*}}tensor<8xbf16>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xbf16>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
    return %0, %1 : tensor<8xf32>, tensor<8xbf16>
  }
}
