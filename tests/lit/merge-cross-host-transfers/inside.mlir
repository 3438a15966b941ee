// RUN: hlo-opt %s --merge-cross-host-transfers --topology=1x1x4 2>/dev/null | FileCheck %s --check-prefix=APART
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=1x1x4 --target=h200 2>&1 | FileCheck %s --check-prefix=PACKED
// RUN: hlo-opt %s --merge-cross-host-transfers=scope=cross-host --topology=1x1x4 --target=h200 2>/dev/null | FileCheck %s --check-prefix=APART

// RUN: hlo-opt %s --merge-cross-host-transfers --topology=1x4x1 --target=h200 2>&1 | FileCheck %s --check-prefix=OWNERS
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=1x4 --target=h200 2>&1 | FileCheck %s --check-prefix=UNSAID

// Inside a host nothing is merged unless the target is given and was measured: on H200s that one process owns, packing
// small permutes of one type beats the one launch that XLA makes of them. Nobody measured that with a process for each.
// APART-COUNT-2: collective_permute{{.*}}tensor<8xf32>
// PACKED: remark: MCT001: Merged with 1 other into one packed permute of 64 bytes, about {{[0-9]+}} us on h200 instead of {{[0-9]+}} us.
// PACKED: collective_permute{{.*}}tensor<16xf32>
// OWNERS-COUNT-2: collective_permute{{.*}}tensor<8xf32>
// UNSAID-COUNT-2: collective_permute{{.*}}tensor<8xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
