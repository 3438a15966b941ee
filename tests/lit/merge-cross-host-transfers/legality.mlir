// What may become one transfer and what may not, whatever it would gain. Each case is run with both ways of merging;
// group.mlir and concat.mlir show what comes out in more detail.
// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=group --topology=2x2 --split-input-file 2>%t.group | FileCheck %s --check-prefixes=CHECK,GROUP
// RUN: FileCheck %s --check-prefixes=REMARK,GROUP-REMARK < %t.group
// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=concat --topology=2x2 --split-input-file 2>%t.concat | FileCheck %s --check-prefixes=CHECK,CONCAT
// RUN: FileCheck %s --check-prefixes=REMARK,CONCAT-REMARK < %t.concat

// Independent, with the same pairs: both ways.
// CHECK-LABEL: func.func public @independent
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
// CONCAT-NOT: collective_permute
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @independent(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// One needs the other's result, here through an op in between.
// CHECK-LABEL: func.func public @dependent
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.add
// CHECK-NEXT: stablehlo.collective_permute
// REMARK: remark: MCT005: Not merged: each of the others waits for it or it waits for them.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dependent(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %arg1 : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// … and here through a branch that uses it.
// CHECK-LABEL: func.func public @dependent_through_a_region
// CHECK: "stablehlo.collective_permute"(%arg0)
// CHECK: stablehlo.case
// CHECK: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dependent_through_a_region(%arg0: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.case"(%i) ({
      stablehlo.return %0 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// Other pairs: a group takes them, a packed permute cannot.
// CHECK-LABEL: func.func public @other_pairs
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT-COUNT-2: "stablehlo.collective_permute"({{.*}}tensor<8xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @other_pairs(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// The same pairs in another order are the same pairs.
// CHECK-LABEL: func.func public @pairs_in_another_order
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @pairs_in_another_order(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 0], [0, 1], [2, 3], [1, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Partition ids and replica ids are different devices, also where the numbers are the same.
// CHECK-LABEL: func.func public @other_mode
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: "stablehlo.collective_permute"(%arg1)
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @other_mode(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Channels only tell modes apart: two above 0 are one mode.
// CHECK-LABEL: func.func public @other_channel
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @other_channel(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// What is in a loop's body is done in every round; what is before the loop, once.
// CHECK-LABEL: func.func public @in_a_loop_and_before_it
// CHECK: "stablehlo.collective_permute"(%arg0)
// CHECK: stablehlo.while
// CHECK: stablehlo.collective_permute
// REMARK: remark: MCT004: Not merged: no other one stands beside it: not in this block, or past a barrier.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @in_a_loop_and_before_it(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = stablehlo.while(%n = %i, %x = %arg1) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %p = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %next, %p : tensor<i32>, tensor<8xf32>
    }
    return %0, %w#1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Two in one body can be merged there.
// CHECK-LABEL: func.func public @in_one_body
// CHECK: do {
// GROUP: func.call @collectives_group
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @in_one_body(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = stablehlo.while(%n = %i, %x = %arg1) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %q = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %r = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %p = stablehlo.add %q, %r : tensor<8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %next, %p : tensor<i32>, tensor<8xf32>
    }
    return %w#1 : tensor<8xf32>
  }
}

// -----

// Two branches of which one is taken.
// CHECK-LABEL: func.func public @in_two_branches
// CHECK: stablehlo.case
// CHECK: stablehlo.collective_permute
// CHECK: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @in_two_branches(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
    %0 = "stablehlo.case"(%i) ({
      %1 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }, {
      %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %1 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Nothing moves past an op with a token, whether it makes one or takes one, and a send orders what is around it.
// CHECK-LABEL: func.func public @past_a_send
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.create_token
// CHECK-NEXT: stablehlo.send
// CHECK-NEXT: "stablehlo.collective_permute"(%arg1)
// CHECK-NEXT: stablehlo.recv
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_send(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %t = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %0, %1, %3#0 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @past_a_token
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.after_all
// CHECK-NEXT: "stablehlo.collective_permute"(%arg1)
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_token(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %t: !stablehlo.token) -> (tensor<8xf32>, tensor<8xf32>, !stablehlo.token) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %u = stablehlo.after_all %t : !stablehlo.token
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %u : tensor<8xf32>, tensor<8xf32>, !stablehlo.token
  }
}

// -----

// CHECK-LABEL: func.func public @past_a_barrier
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.optimization_barrier
// CHECK-NEXT: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_barrier(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.optimization_barrier %arg1 : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A custom call without a side effect is an op like another; with one it is not.
// CHECK-LABEL: func.func public @past_custom_calls
// GROUP: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
// CHECK: stablehlo.custom_call @effect
// CHECK: "stablehlo.collective_permute"({{.*}}tensor<8xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_custom_calls(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.custom_call @pure(%0) {has_side_effect = false} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.custom_call @effect(%0) {has_side_effect = true} : (tensor<8xf32>) -> ()
    %3 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// The user's stream annotation says where this one is to run.
// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: MCT002: Not merged: it carries the user's stream annotation '3'.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_the_user(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A size that is not known when compiling.
// CHECK-LABEL: func.func public @dynamic_shape
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: MCT003: Not merged: its size is not known when compiling.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dynamic_shape(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<?xf32>) -> tensor<?xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<?xf32>) -> tensor<?xf32>
    return %0, %1 : tensor<?xf32>, tensor<?xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @elements_i1
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xui8>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_i1(%arg0: tensor<8xi1>, %arg1: tensor<8xi1>) -> (tensor<8xi1>, tensor<8xi1>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi1>) -> tensor<8xi1>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi1>) -> tensor<8xi1>
    return %0, %1 : tensor<8xi1>, tensor<8xi1>
  }
}

// -----

// CHECK-LABEL: func.func public @elements_i4
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xui8>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_i4(%arg0: tensor<8xi4>, %arg1: tensor<8xi4>) -> (tensor<8xi4>, tensor<8xi4>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi4>) -> tensor<8xi4>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi4>) -> tensor<8xi4>
    return %0, %1 : tensor<8xi4>, tensor<8xi4>
  }
}

// -----

// CHECK-LABEL: func.func public @elements_ui2
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xui8>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_ui2(%arg0: tensor<8xui2>, %arg1: tensor<8xui2>) -> (tensor<8xui2>, tensor<8xui2>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xui2>) -> tensor<8xui2>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xui2>) -> tensor<8xui2>
    return %0, %1 : tensor<8xui2>, tensor<8xui2>
  }
}

// -----

// CHECK-LABEL: func.func public @elements_f8
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xui8>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_f8(%arg0: tensor<8xf8E4M3FN>, %arg1: tensor<8xf8E4M3FN>) -> (tensor<8xf8E4M3FN>, tensor<8xf8E4M3FN>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf8E4M3FN>) -> tensor<8xf8E4M3FN>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf8E4M3FN>) -> tensor<8xf8E4M3FN>
    return %0, %1 : tensor<8xf8E4M3FN>, tensor<8xf8E4M3FN>
  }
}

// -----

// CHECK-LABEL: func.func public @elements_complex
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<32xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_complex(%arg0: tensor<8xcomplex<f32>>, %arg1: tensor<8xcomplex<f32>>) -> (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    return %0, %1 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>
  }
}

// -----

// Six bits cannot be packed bit for bit; a group packs nothing.
// CHECK-LABEL: func.func public @elements_f6
// GROUP-NEXT: call @collectives_group(%arg0, %arg1)
// CONCAT-COUNT-2: stablehlo.collective_permute
// CONCAT-REMARK: remark: MCT007: Not merged: elements of type f6E2M3FN cannot be packed bit for bit.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @elements_f6(%arg0: tensor<8xf6E2M3FN>, %arg1: tensor<8xf6E2M3FN>) -> (tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
    return %0, %1 : tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>
  }
}

// -----

// Nothing is sent: there is nothing that crosses hosts.
// CHECK-LABEL: func.func public @empty_pairs
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: "stablehlo.collective_permute"(%arg1)
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @empty_pairs(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Partial pairs: a device without a source gets zeros. Packed, of which zeros are unpacked.
// CHECK-LABEL: func.func public @partial_pairs
// GROUP-COUNT-2: "stablehlo.collective_permute"({{.*}}tensor<8xf32>
// CONCAT: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
// GROUP-REMARK: remark: MCT013: Not merged: in a group, a device that receives nothing would not get the zeros that it is to have.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @partial_pairs(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Users of one that stand before the other, and what the other needs: the first come after the transfer, the second
// before it.
// CHECK-LABEL: func.func public @users_in_between
// CHECK-NEXT: stablehlo.negate %arg1
// CHECK: {{call @collectives_group|collective_permute}}
// CHECK: stablehlo.add
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @users_in_between(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %0 : tensor<8xf32>
    %2 = stablehlo.negate %arg1 : tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A region that uses the first one's result is a user, too.
// CHECK-LABEL: func.func public @a_region_in_between
// CHECK: {{call @collectives_group|collective_permute}}
// CHECK: stablehlo.case
// CHECK-NOT: collective_permute
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @a_region_in_between(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %i: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.case"(%i) ({
      stablehlo.return %0 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}
