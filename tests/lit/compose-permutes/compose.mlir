// RUN: hlo-opt %s --compose-permutes --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A permute of a permute is one permute: the data goes from where it was to where it ends.
// CHECK-LABEL: func.func public @two_steps_around_a_ring
// CHECK-NEXT: %[[A:.+]] = "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 2], [1, 3], [2, 0], [3, 1]]>
// CHECK-NEXT: return %[[A]]
// REMARK: remark: CMP001: Made one with the collective_permute of line {{[0-9]+}}, whose result it sent on: its pairs are now [0, 2], [1, 3], [2, 0], [3, 1].
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @two_steps_around_a_ring(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Partial pairs: what came from nowhere is zeros, and sending zeros on is sending nothing. Three steps along a line of
// four reach one device.
// CHECK-LABEL: func.func public @three_steps_along_a_line
// CHECK-NEXT: %[[A:.+]] = "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 3]]>
// CHECK-NEXT: return %[[A]]
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @three_steps_along_a_line(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// Nothing is left to send, and everybody gets zeros.
// CHECK-LABEL: func.func public @off_the_end
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0) {{.*}}dense<> : tensor<0x2xi64>
// REMARK: its pairs are now none.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @off_the_end(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Several permutes of one result: each takes the data from its first place, and the one in between is gone.
// CHECK-LABEL: func.func public @both_ways_on
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 2], [1, 3], [2, 0], [3, 1]]>
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 0], [1, 1], [2, 2], [3, 3]]>
// CHECK-NEXT: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @both_ways_on(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Where the result in between is needed, there would be as many permutes as before.
// CHECK-LABEL: func.func public @needed_in_between
// CHECK-NEXT: %[[A:.+]] = "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.add
// CHECK-NEXT: "stablehlo.collective_permute"(%[[A]])
// REMARK: remark: CMP002: Not joined to the next permute of its result: the result is used elsewhere too.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @needed_in_between(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %0 : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// A barrier in between is an order.
// CHECK-LABEL: func.func public @past_a_barrier
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.optimization_barrier
// CHECK-NEXT: stablehlo.collective_permute
// REMARK: remark: CMP003: Not joined to the next permute of its result: a barrier, a side effect or the edge of a region is in between.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_barrier(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.optimization_barrier %arg1 : tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// So is the edge of a region: a loop sends in every round what was sent before it once.
// CHECK-LABEL: func.func public @into_a_loop
// CHECK: %[[A:.+]] = "stablehlo.collective_permute"(%arg0)
// CHECK: stablehlo.while
// CHECK: "stablehlo.collective_permute"(%[[A]])
// REMARK: remark: CMP003:
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @into_a_loop(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %w:2 = stablehlo.while(%n = %i, %x = %arg0) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %2 = stablehlo.add %x, %1 : tensor<8xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %n, %one : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<8xf32>
    }
    return %w#1 : tensor<8xf32>
  }
}

// -----

// Partition ids and replica ids are different devices.
// CHECK-LABEL: func.func public @different_modes
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: CMP004: Not joined to the next permute of its result: one is among partitions, the other among replicas.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @different_modes(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// The user's attributes say something about one of the two that may not hold for both.
// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: CMP005: Not joined to the next permute of its result: one of them carries the attribute _xla_stream_annotation.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_the_user(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// An annotation of ours was made for another permute; it goes.
// CHECK-LABEL: func.func public @annotated_by_us
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NOT: stream_annotation
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @annotated_by_us(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3", combiner_key = "hloverlap.0"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "4", combiner_key = "hloverlap.1"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
