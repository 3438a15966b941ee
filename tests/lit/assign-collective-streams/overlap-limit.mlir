// The overlap limit that lets two collectives be in flight is for the whole module. It is not asked for where others would
// lose more by it, and without it a stream of its own gains a permute nothing, so nothing is changed.

// RUN: hlo-opt %s --split-input-file --assign-collective-streams --remarks=text 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Three all-to-alls have one matmul after them once XLA has merged those that share the weight. Two permutes would gain.
// CHECK-LABEL: func.func public @one_weight
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS012: Left as it is: it can be in flight with the collective_permute of line {{[0-9]+}}, but the overlap limit that this takes is for the whole module: 2 collectives gain by it, and 3 for which matmuls wait that XLA merges, such as the all_to_all of line {{[0-9]+}}, can lose what hides them.
// REMARK: remark: ACS012
// REMARK-NOT: XLA_FLAGS
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @one_weight(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z0: tensor<8x8xf32>, %z1: tensor<8x8xf32>, %z2: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %f = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a0 = "stablehlo.all_to_all"(%z0) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a1 = "stablehlo.all_to_all"(%z1) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a2 = "stablehlo.all_to_all"(%z2) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %d0 = stablehlo.dot_general %a0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d1 = stablehlo.dot_general %a1, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d2 = stablehlo.dot_general %a2, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f, %b, %d0, %d1, %d2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// Matmuls that share nothing are not merged, and one is left for each all-to-all.
// CHECK-LABEL: func.func public @a_weight_for_each
// CHECK: _xla_stream_annotation = "[[S1]]"
// CHECK: _xla_stream_annotation = "[[S2]]"
// REMARK: remark: ACS001
// REMARK: remark: ACS001
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @a_weight_for_each(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z0: tensor<8x8xf32>, %z1: tensor<8x8xf32>, %z2: tensor<8x8xf32>, %w0: tensor<8x8xf32>, %w1: tensor<8x8xf32>, %w2: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %f = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a0 = "stablehlo.all_to_all"(%z0) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a1 = "stablehlo.all_to_all"(%z1) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a2 = "stablehlo.all_to_all"(%z2) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %d0 = stablehlo.dot_general %a0, %w0, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d1 = stablehlo.dot_general %a1, %w1, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d2 = stablehlo.dot_general %a2, %w2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f, %b, %d0, %d1, %d2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// No more can lose than gain.
// CHECK-LABEL: func.func public @as_many_as_gain
// CHECK-COUNT-2: _xla_stream_annotation
// REMARK: remark: ACS001
// REMARK: remark: ACS001
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @as_many_as_gain(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z0: tensor<8x8xf32>, %z1: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %f = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a0 = "stablehlo.all_to_all"(%z0) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a1 = "stablehlo.all_to_all"(%z1) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %d0 = stablehlo.dot_general %a0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d1 = stablehlo.dot_general %a1, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f, %b, %d0, %d1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// An annotation of the user's stays, and is told that it has no effect by itself.
// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK: _xla_stream_annotation = "7"
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS004: Kept the stream annotation '7' that was there. It can be in flight with the collective_permute of line {{[0-9]+}}, but the overlap limit
// REMARK: remark: ACS012
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_the_user(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z0: tensor<8x8xf32>, %z1: tensor<8x8xf32>, %z2: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %f = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "7"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a0 = "stablehlo.all_to_all"(%z0) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a1 = "stablehlo.all_to_all"(%z1) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %a2 = "stablehlo.all_to_all"(%z2) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %d0 = stablehlo.dot_general %a0, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d1 = stablehlo.dot_general %a1, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %d2 = stablehlo.dot_general %a2, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %f, %b, %d0, %d1, %d2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// -----

// Beside a ragged all-to-all the limit is not raised unasked.
// CHECK-LABEL: func.func public @ragged
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS012: {{.*}}, but a higher overlap limit is not asked for beside the custom_call of line {{[0-9]+}}, a ragged all-to-all.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @ragged(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %f = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %b = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %i = stablehlo.constant dense<2> : tensor<4xi32>
    %r = stablehlo.custom_call @ragged_all_to_all(%x, %y, %i, %i, %i, %i) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}} : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<8x8xf32>
    return %f, %b, %r : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
