// Who owns the GPUs decides what pays. One process with all of them copies from device to device:
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=1x1x8 --split-input-file 2>%t.one | FileCheck %s --check-prefix=ONE
// RUN: FileCheck %s --check-prefix=PEER < %t.one
// Of a process for each, XLA makes no such copies, and a stream pays only beside a matmul:
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=1x8x1 --split-input-file 2>%t.each | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.each
// RUN: not grep -E 'ACS016|COLLECTIVES_PEER_MEMORY' %t.each
// Where nobody said the processes, only what pays either way is done, and one remark says what to say:
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=1x8 --split-input-file 2>%t.unsaid | FileCheck %s
// RUN: FileCheck %s --check-prefixes=REMARK,UNSAID < %t.unsaid
// RUN: not grep COLLECTIVES_PEER_MEMORY %t.unsaid
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --split-input-file 2>%t.nowhere | FileCheck %s
// RUN: not grep COLLECTIVES_PEER_MEMORY %t.nowhere
// Between hosts nobody has measured it:
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=2x4x1 --split-input-file 2>&1 | FileCheck %s --check-prefix=HOSTS

// PEER-COUNT-5: remark: ACS009: Asked for copies from device to device: every permute stays inside a process.
// HOSTS-COUNT-2: remark: ACS011: Left as it is: whether a stream pays for what goes between hosts on h200 is not known.
// HOSTS-NOT: _xla_stream_annotation

// ONE-LABEL: func.func public @alone
// ONE-COUNT-2: _xla_stream_annotation
// CHECK-LABEL: func.func public @alone
// CHECK-NOT: _xla_stream_annotation
// REMARK-COUNT-2: remark: ACS017: Left as it is: no matmul can run beside it, and else no stream pays through NCCL on h200.
// UNSAID: remark: ACS016: Did not ask for copies from device to device: XLA makes them inside a process only, and nobody said which process owns which device; a topology such as 1x1x8 says that one process owns all.
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @alone(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>) {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    %1 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    return %0, %1 : tensor<16777216xf32>, tensor<16777216xf32>
  }
}

// -----

// A matmul that neither waits for the permutes nor is waited for:
// ONE-LABEL: func.func public @beside
// ONE-COUNT-2: _xla_stream_annotation
// CHECK-LABEL: func.func public @beside
// CHECK-COUNT-2: _xla_stream_annotation
// REMARK-COUNT-2: remark: ACS001: Put on stream
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @beside(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>, %w: tensor<4096x4096xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>) {
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    %1 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    return %0, %1, %2 : tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>
  }
}

// -----

// One that makes what is sent is over by then:
// CHECK-LABEL: func.func public @before
// CHECK-NOT: _xla_stream_annotation
// REMARK-COUNT-2: remark: ACS017
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @before(%w: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %0 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %1 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
}

// -----

// In a function that is called, beside a matmul of its caller:
// CHECK-LABEL: func.func public @around
// CHECK: func.func private @ring
// CHECK-COUNT-2: _xla_stream_annotation
// REMARK-COUNT-2: remark: ACS001
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @around(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>, %w: tensor<4096x4096xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>) {
    %r:2 = call @ring(%a, %b) : (tensor<16777216xf32>, tensor<16777216xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>)
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %r#0, %r#1, %2 : tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>
  }
  func.func private @ring(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>) {
    %0 = "stablehlo.collective_permute"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    %1 = "stablehlo.collective_permute"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    return %0, %1 : tensor<16777216xf32>, tensor<16777216xf32>
  }
}

// -----

// In a loop, whose matmul each turn has, beside the one that waits:
// CHECK-LABEL: func.func public @turns
// CHECK-COUNT-2: _xla_stream_annotation
// REMARK-COUNT-2: remark: ACS001
module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @turns(%a: tensor<16777216xf32>, %b: tensor<16777216xf32>, %w: tensor<4096x4096xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:4 = stablehlo.while(%i = %zero, %x = %a, %y = %b, %v = %w) : tensor<i32>, tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>
    cond {
      %end = stablehlo.constant dense<8> : tensor<i32>
      %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 7], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [6, 5], [7, 6]]> : tensor<8x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
      %2 = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
      stablehlo.return %next, %0, %1, %2 : tensor<i32>, tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>
    }
    return %r#1, %r#2, %r#3 : tensor<16777216xf32>, tensor<16777216xf32>, tensor<4096x4096xf32>
  }
}
