// RUN: hlo-opt %s --assign-collective-streams --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Opposite directions of a ring: neither needs the other, so each gets a stream. The combiner key keeps XLA from
// joining annotated permutes, and marks the annotation as ours.
// CHECK-LABEL: func.func public @two_directions
// CHECK: collective_permute{{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.0"
// CHECK: collective_permute{{.*}}_xla_stream_annotation = "[[S2]]", combiner_key = "hloverlap.1"
// REMARK: remark: ACS001: Put on stream [[S1]]: it can be in flight with the collective_permute of
// REMARK: remark: ACS001: Put on stream [[S2]]: it can be in flight with the collective_permute of
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_directions(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A chain: each needs the one before it, nothing can overlap, nothing changes.
// CHECK-LABEL: func.func public @chain
// CHECK-NOT: _xla_stream_annotation
// CHECK: return
// REMARK: remark: ACS002: Left as it is: there is no other collective that it could be in flight with.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @chain(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Two chains side by side: a chain stays on its stream.
// CHECK-LABEL: func.func public @two_chains
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S1]]"
// CHECK: collective_permute"(%arg1){{.*}}_xla_stream_annotation = "[[S2]]"
// CHECK: collective_permute"(%1){{.*}}_xla_stream_annotation = "[[S2]]"
// CHECK: collective_permute"(%0){{.*}}_xla_stream_annotation = "[[S1]]"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_chains(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %2, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// XLA joins independent permutes with equal pairs into one launch by itself. There is nothing better to do.
// CHECK-LABEL: func.func public @same_pairs
// CHECK-NOT: _xla_stream_annotation
// CHECK: return
// REMARK: remark: ACS003: Left to XLA, which joins it with 1 more of the same pairs (64 bytes together) on stream 0; there is no other collective that it could be in flight with.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @same_pairs(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// What XLA joins stays on its stream 0; the one in the other direction goes to a stream of its own.
// CHECK-LABEL: func.func public @same_pairs_and_another
// CHECK: collective_permute"(%arg0) {{.*}}}> : (tensor
// CHECK: collective_permute"(%arg1) {{.*}}}> : (tensor
// CHECK: collective_permute"(%arg2){{.*}}_xla_stream_annotation = "[[S1]]"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @same_pairs_and_another(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Two sets that XLA would join, both large: stream 0 can run one at a time, so the second is taken apart. Each gets
// a key of its own, as a joined permute that carries an annotation is made synchronous by XLA 0.12.
// CHECK-LABEL: func.func public @two_large_sets
// CHECK: collective_permute"(%arg0) {{.*}}}> : (tensor
// CHECK: collective_permute"(%arg1) {{.*}}}> : (tensor
// CHECK: collective_permute"(%arg2){{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.0"
// CHECK: collective_permute"(%arg3){{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.1"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_large_sets(%arg0: tensor<65536xf32>, %arg1: tensor<65536xf32>, %arg2: tensor<65536xf32>, %arg3: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %3 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    return %0, %1, %2, %3 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
  }
}

// -----

// Permutes with the same pairs that are too large for XLA to join: they use the same links, so streams would not help.
// But XLA has to be told that both may be in flight, or it makes one of them synchronous.
// CHECK-LABEL: func.func public @same_links
// CHECK-NOT: _xla_stream_annotation
// CHECK: return
// REMARK: remark: ACS010: Left on XLA's stream 0: the collective_permute of {{.*}} has the same pairs, so the two use the same links.
// REMARK: XLA_FLAGS="--xla_gpu_experimental_parallel_collective_overlap_limit
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @same_links(%arg0: tensor<4194304xf32>, %arg1: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
    return %0, %1 : tensor<4194304xf32>, tensor<4194304xf32>
  }
}
