// RUN: hlo-opt %s --lower-send-recv --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --lower-send-recv --join-partial-permutes --merge-cross-host-transfers=strategy=concat --topology=2x2 --target=h200 --split-input-file 2>/dev/null | FileCheck %s --check-prefix=MERGED

// What `jax.lax.psend` and `jax.lax.precv` give: each send has a token of its own, which leads to its recv alone. That
// is a permute in two halves; made one, it can be merged with others.
// CHECK-LABEL: func.func public @two_arrays
// CHECK-NEXT: %[[A:.+]] = "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK-NEXT: %[[B:.+]] = "stablehlo.collective_permute"(%arg1) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK-NEXT: return %[[A]], %[[B]]
// REMARK: remark: LSR001: Made a permute with the send of line {{[0-9]+}}: no other token orders it.
// MERGED-LABEL: func.func public @two_arrays
// MERGED: "stablehlo.collective_permute"({{.*}}tensor<16xf32>
// MERGED-NOT: collective_permute
// MERGED: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_arrays(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %4 = stablehlo.create_token : !stablehlo.token
    %5 = "stablehlo.send"(%arg1, %4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    %6:2 = "stablehlo.recv"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0, %6#0 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// XLA:GPU takes no sends around a ring: they would wait for each other. So a ring is a line and the step that closes it,
// two messages that follow each other on the stream. As permutes they are one.
// CHECK-LABEL: func.func public @ring_in_two_parts
// CHECK: "stablehlo.collective_permute"(%[[X:.+]]) {{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK-NEXT: "stablehlo.collective_permute"(%[[X]]) {{.*}}dense<{{\[\[}}3, 0]]>
// MERGED-LABEL: func.func public @ring_in_two_parts
// MERGED: "stablehlo.collective_permute"({{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0]]>
// MERGED-NOT: collective_permute
// MERGED: sdy.return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @ring_in_two_parts(%arg0: tensor<32xf32>) -> tensor<32xf32> {
    %m = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>) {
      %1 = stablehlo.create_token : !stablehlo.token
      %2 = "stablehlo.send"(%x, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
      %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
      %4 = stablehlo.create_token : !stablehlo.token
      %5 = "stablehlo.send"(%x, %4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
      %6:2 = "stablehlo.recv"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 0]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
      %7 = stablehlo.add %3#0, %6#0 : tensor<8xf32>
      sdy.return %7 : tensor<8xf32>
    } : (tensor<32xf32>) -> tensor<32xf32>
    return %m : tensor<32xf32>
  }
}

// -----

// One token after the other: the second exchange is to begin when the first is over. So the program says, and so it stays.
// CHECK-LABEL: func.func public @one_after_the_other
// CHECK-COUNT-2: stablehlo.recv
// REMARK: remark: LSR004: Left as it is, so it is not merged with others: another op takes a token of the two, and has to be after them.
// REMARK: remark: LSR004: Left as it is, so it is not merged with others: the token of its send comes from another op, which has to be first.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @one_after_the_other(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    %5 = "stablehlo.send"(%arg1, %3#1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %6:2 = "stablehlo.recv"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0, %6#0 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A recv with a token of its own: which send it belongs to is not said.
// CHECK-LABEL: func.func public @no_token_from_one_to_the_other
// CHECK: stablehlo.send
// CHECK: stablehlo.recv
// REMARK: remark: LSR003: Left as it is, so it is not merged with others: its token does not come from the send of the same data.
// REMARK: remark: LSR002: Left as it is, so it is not merged with others: its token goes elsewhere than to the recv of the same data.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @no_token_from_one_to_the_other(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3 = stablehlo.create_token : !stablehlo.token
    %4:2 = "stablehlo.recv"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %4#0 : tensor<8xf32>
  }
}

// -----

// Sent to some, received by others: two halves of different permutes.
// CHECK-LABEL: func.func public @other_pairs
// CHECK: stablehlo.recv
// REMARK: remark: LSR003: Left as it is, so it is not merged with others: the pairs or the channels of send and recv differ.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @other_pairs(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [2, 1], [3, 2]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0 : tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @past_a_barrier
// CHECK: stablehlo.send
// CHECK: stablehlo.optimization_barrier
// CHECK: stablehlo.recv
// REMARK: remark: LSR005: Left as it is, so it is not merged with others: the optimization_barrier of line {{[0-9]+}}, which has an order, stands between the two.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_barrier(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %4 = stablehlo.optimization_barrier %arg1 : tensor<8xf32>
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0, %4 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK: stablehlo.send{{.*}}theirs = "kept"
// REMARK: remark: LSR007: Left as it is, so it is not merged with others: one of the two carries the attribute mhlo.frontend_attributes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_the_user(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> {mhlo.frontend_attributes = {theirs = "kept"}} : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0 : tensor<8xf32>
  }
}

// -----

// To and from the host.
// CHECK-LABEL: func.func public @host_transfer
// CHECK: stablehlo.send
// REMARK: remark: LSR003: Left as it is, so it is not merged with others: one of the two is a transfer from or to the host.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @host_transfer(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0 : tensor<8xf32>
  }
}

// -----

// A group of sends and recvs is one launch already.
// CHECK-LABEL: func.func private @group
// CHECK: stablehlo.send
// CHECK: stablehlo.recv
// REMARK-COUNT-2: remark: LSR006: Left as it is, so it is not merged with others: it is part of a group, which is one launch already.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @grouped(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @group(%arg0) {mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @group(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %1 = stablehlo.create_token : !stablehlo.token
    %2 = "stablehlo.send"(%arg0, %1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>, !stablehlo.token) -> !stablehlo.token
    %3:2 = "stablehlo.recv"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (!stablehlo.token) -> (tensor<8xf32>, !stablehlo.token)
    return %3#0 : tensor<8xf32>
  }
}
