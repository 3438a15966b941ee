// RUN: hlo-opt %s --keep-dots-apart --split-input-file -o %t.mlir 2>%t.remarks
// RUN: hlo-opt %s --split-input-file 2>/dev/null | cmp - %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
// RUN: grep -c KDA %t.remarks | FileCheck %s --check-prefix=REMARKS
// REMARKS: 2

// Two blocks meet one weight. XLA:GPU would make one matmul of both, which has to wait for the second block; apart, the
// first one hides the transfer. The module stays as it is, and XLA is told.
// REMARK: remark: KDA001: Kept from being merged with the dot_general of line {{[0-9]+}}, which waits for a transfer that it can hide.
module @ring attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %next = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %first = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %second = stablehlo.dot_general %next, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %first, %second : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// Matmuls that are ready together gain by being merged.
module @ready_together attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
    %next = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %query = stablehlo.dot_general %next, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %key = stablehlo.dot_general %next, %x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %query, %key : tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// Where a module has both, the option would take from the ones what it gives to the others.
// REMARK: KDA002: Left to be merged with later ones: the dot_general of line {{[0-9]+}} gains by being merged with others.
module @both attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x64xf32>, %u: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    %next = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %first = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %second = stablehlo.dot_general %next, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %query = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %key = stablehlo.dot_general %u, %u, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %first, %second, %query, %key : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}

// -----

// XLA merges no two of which one needs the other, none that contract differently, and none that are both large.
// REMARK: XLA_FLAGS="--xla_gpu_dot_merger_threshold_mb=0"
module @not_merged attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %big: tensor<2048x2048xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>) {
    %first = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %next = "stablehlo.collective_permute"(%first) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %second = stablehlo.dot_general %next, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %third = stablehlo.dot_general %second, %w, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %far = "stablehlo.collective_permute"(%big) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %near_dot = stablehlo.dot_general %big, %big, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    %far_dot = stablehlo.dot_general %far, %big, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    return %second, %third, %near_dot, %far_dot : tensor<64x64xf32>, tensor<64x64xf32>, tensor<2048x2048xf32>, tensor<2048x2048xf32>
  }
}
