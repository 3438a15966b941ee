// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=group --topology=2x2 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Any pairs, shapes and types go into one group: one launch, and no data is copied.
// CHECK-LABEL: func.func public @two_directions
// CHECK: %0:2 = call @collectives_group(%arg0, %arg1) {mhlo.frontend_attributes = {_collectives_group = ""{{.*}}}}
// CHECK: return %0#0, %0#1
// CHECK-LABEL: func.func private @collectives_group
// CHECK: collective_permute"(%arg0) {{.*}}[0, 1], [1, 2], [2, 3], [3, 0]{{.*}}tensor<8xf32>
// CHECK: collective_permute"(%arg1) {{.*}}[0, 3], [1, 0], [2, 1], [3, 2]{{.*}}tensor<4xbf16>
// REMARK: remark: MCT001: Merged with 1 other into one group of 40 bytes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_directions(%arg0: tensor<8xf32>, %arg1: tensor<4xbf16>) -> (tensor<8xf32>, tensor<4xbf16>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<4xbf16>) -> tensor<4xbf16>
    return %0, %1 : tensor<8xf32>, tensor<4xbf16>
  }
}

// -----

// A permute none of whose pairs leaves its host is not what this pass is for.
// CHECK-LABEL: func.func public @inside_the_hosts
// CHECK-NOT: call
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @inside_the_hosts(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [3, 2]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Users of one member that stand before another member's operand are moved behind the merged transfer, and only they.
// CHECK-LABEL: func.func public @users_in_between
// CHECK-NEXT: %[[X:.+]] = stablehlo.negate %arg1
// CHECK-NEXT: %[[G:.+]]:2 = call @collectives_group(%arg0, %[[X]])
// CHECK-NEXT: %[[U:.+]] = stablehlo.add %[[G]]#0, %[[G]]#0
// CHECK-NEXT: return %[[U]], %[[G]]#1
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @users_in_between(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %0 : tensor<8xf32>
    %2 = stablehlo.negate %arg1 : tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// One that needs another's result cannot go with it. The second step of each chain makes a group of its own.
// CHECK-LABEL: func.func public @dependent
// CHECK-NEXT: %[[A:.+]]:2 = call @collectives_group(%arg0, %arg1)
// CHECK-NEXT: %[[B:.+]]:2 = call @collectives_group_0(%[[A]]#0, %[[A]]#1)
// CHECK-NEXT: %[[C:.+]] = "stablehlo.collective_permute"(%[[B]]#0)
// REMARK: Not merged: each of the others waits for it or it waits for them.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dependent(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %4 = "stablehlo.collective_permute"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %2, %4 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Partition ids and replica ids are different devices.
// CHECK-LABEL: func.func public @different_modes
// CHECK-NOT: call
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @different_modes(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Nothing is moved across a barrier, a token or a side effect, nor into or out of a region.
// CHECK-LABEL: func.func public @past_a_barrier
// CHECK: collective_permute
// CHECK: optimization_barrier
// CHECK: collective_permute
// REMARK: Not merged: no other one stands beside it: not in this block, or past a barrier.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_barrier(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.optimization_barrier %arg1 : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @past_a_side_effect
// CHECK-NOT: call @collectives_group
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_side_effect(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.custom_call @print(%0) {has_side_effect = true} : (tensor<8xf32>) -> ()
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// The call of a function that has a side effect is one.
// CHECK-LABEL: func.func public @past_a_call
// CHECK-NOT: call @collectives_group
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_call(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %t = stablehlo.create_token : !stablehlo.token
    call @log(%t) : (!stablehlo.token) -> ()
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @log(%arg0: !stablehlo.token) {
    %0 = "stablehlo.outfeed"(%arg0) <{outfeed_config = ""}> : (!stablehlo.token) -> !stablehlo.token
    return
  }
}

// -----

// The user's stream annotation would not survive in a group.
// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK-NOT: call
// CHECK: return
// REMARK: Not merged: it carries the user's stream annotation '3'.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_the_user(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @dynamic_shape
// CHECK-NOT: call
// CHECK: return
// REMARK: Not merged: its size is not known when compiling.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dynamic_shape(%arg0: tensor<?xf32>, %arg1: tensor<8xf32>) -> (tensor<?xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<?xf32>) -> tensor<?xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<?xf32>, tensor<8xf32>
  }
}

// -----

// A group that is there is left as it is, and its name is not taken again.
// CHECK-LABEL: func.func public @grouped_already
// CHECK: call @collectives_group(%arg0, %arg1)
// CHECK: call @collectives_group_0(%arg2, %arg3)
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @grouped_already(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0:2 = call @collectives_group(%arg0, %arg1) {mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %1 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0#0, %0#1, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @collectives_group(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A group would leave a device that receives nothing without the zeros that a permute gives it: seen on GPUs.
// CHECK-LABEL: func.func public @partial
// CHECK-NOT: call
// CHECK: return
// REMARK: remark: MCT013: Not merged: in a group, a device that receives nothing would not get the zeros that it is to have.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @partial(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 0], [3, 1]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
