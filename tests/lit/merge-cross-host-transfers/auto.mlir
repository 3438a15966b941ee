// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=h200 --split-input-file 2>%t.h200 | FileCheck %s
// RUN: FileCheck %s --check-prefix=H200 < %t.h200
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=cpu --split-input-file 2>%t.cpu | FileCheck %s --check-prefix=ON-CPU
// RUN: FileCheck %s --check-prefix=CPU < %t.cpu

// `auto` compares what the transfers would take on the target, merged and apart.

// Small permutes with the same pairs. XLA:GPU joins these by itself, without copies. XLA:CPU sends each, as a message of its
// own, and one packed message is much faster.
// CHECK-LABEL: func.func public @small_same_pairs
// CHECK-COUNT-2: collective_permute{{.*}}tensor<8xf32>
// ON-CPU-LABEL: func.func public @small_same_pairs
// ON-CPU: collective_permute{{.*}}tensor<16xf32>
// H200: remark: MCT011: Not merged: one packed permute would take about {{[0-9]+}} us on h200, as XLA joins them 32 us.
// CPU: remark: MCT001: Merged with 1 other into one packed permute of 64 bytes, about 310 us on cpu instead of 620 us.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @small_same_pairs(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Large ones: packing copies every byte twice, which takes longer than a second message.
// CHECK-LABEL: func.func public @large_same_pairs
// ON-CPU-LABEL: func.func public @large_same_pairs
// ON-CPU-COUNT-2: collective_permute{{.*}}tensor<1048576xf32>
// CPU: remark: MCT011: Not merged: one packed permute would take about {{.*}} us on cpu, apart {{[0-9]+}} us.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @large_same_pairs(%arg0: tensor<1048576xf32>, %arg1: tensor<1048576xf32>) -> (tensor<1048576xf32>, tensor<1048576xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1048576xf32>) -> tensor<1048576xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<1048576xf32>) -> tensor<1048576xf32>
    return %0, %1 : tensor<1048576xf32>, tensor<1048576xf32>
  }
}

// -----

// Between the two an estimate says that packing gains a little. Estimates are no better than that, so nothing is done.
// ON-CPU-LABEL: func.func public @middling_same_pairs
// ON-CPU-COUNT-2: collective_permute{{.*}}tensor<16384xf32>
// CPU: remark: MCT011: Not merged: one packed permute would take about 643 us on cpu, apart 751 us, and a gain of less than 15% is not trusted.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @middling_same_pairs(%arg0: tensor<16384xf32>, %arg1: tensor<16384xf32>) -> (tensor<16384xf32>, tensor<16384xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16384xf32>) -> tensor<16384xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16384xf32>) -> tensor<16384xf32>
    return %0, %1 : tensor<16384xf32>, tensor<16384xf32>
  }
}

// -----

// Both directions of a ring, as one group on GPUs: one launch, and each network card sends and receives at once.
// XLA:CPU has no groups. (XLA 0.10.2 lets no compute run beside a group, so nothing is grouped for it.)
// CHECK-LABEL: func.func public @two_directions
// ON-CPU-LABEL: func.func public @two_directions
// H200: remark: {{MCT001: Merged with 1 other into one group of 64 bytes, about 32 us on h200 instead of 64 us|MCT010: Not merged: this version of XLA lets no compute run beside a group}}.
// CPU: remark: MCT010: Not merged: a group is no single launch on cpu.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_directions(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// One that is ready at once is not held back for one that has to wait for a matmul.
// CHECK-LABEL: func.func public @ready_at_different_times
// ON-CPU-LABEL: func.func public @ready_at_different_times
// ON-CPU: collective_permute
// ON-CPU: dot_general
// ON-CPU: collective_permute
// CPU: remark: MCT005: Not merged: no other one that it could be merged with is ready with it.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @ready_at_different_times(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
