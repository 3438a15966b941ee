// RUN: hlo-opt %s --merge-cross-host-transfers 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: hlo-opt %s --merge-cross-host-transfers='scope=all strategy=concat' 2>/dev/null | FileCheck %s --check-prefix=ALL
// RUN: hlo-opt %s --merge-cross-host-transfers='strategy=concat max-bytes=64' --topology=2x2 2>%t.max | FileCheck %s --check-prefix=MAX
// RUN: FileCheck %s --check-prefix=MAXREMARK < %t.max
// RUN: hlo-opt %s --merge-cross-host-transfers='strategy=concat min-count=4' --topology=2x2 2>/dev/null | FileCheck %s --check-prefix=MIN
// RUN: hlo-opt %s --merge-cross-host-transfers --topology='[0,1,0,1]' --target=cpu 2>/dev/null | FileCheck %s --check-prefix=ONE
// RUN: not hlo-opt %s --merge-cross-host-transfers --topology=2x4 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not hlo-opt %s --merge-cross-host-transfers=min-count=1 --topology=2x2 2>&1 | FileCheck %s --check-prefix=BAD

// Who lives on which host is for the user to say; a module does not tell.
// NOWHERE: remark: MCT000: No transfer was merged: without a topology no permute is known to cross hosts; give one, such as 2x4.
// NOWHERE-COUNT-3: stablehlo.collective_permute
// ALL: stablehlo.collective_permute{{.*}}tensor<24xf32>
// A device sends at most 64 bytes in one transfer, so two of three go together.
// MAX: stablehlo.collective_permute{{.*}}tensor<16xf32>
// MAX: stablehlo.collective_permute{{.*}}tensor<8xf32>
// MAXREMARK: remark: MCT008: Not merged: with another one it would be more than max-bytes=64.
// MIN-COUNT-3: stablehlo.collective_permute{{.*}}tensor<8xf32>
// Over gloo, small ones are packed by default.
// ONE: stablehlo.collective_permute{{.*}}tensor<24xf32>
// SIZE: error: {{.*}}8{{.*}}4
// BAD: error: {{.*}}min-count=1 merges nothing with itself; give at least 2
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
