// RUN: hlo-opt %s --assign-collective-streams --split-input-file 2>/dev/null | FileCheck %s --check-prefix=ANY
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=1x1x4 --split-input-file 2>%t.h200 | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.h200
// RUN: hlo-opt %s --assign-collective-streams --target=h200 --topology=2x2 --split-input-file 2>%t.hosts >/dev/null
// RUN: FileCheck %s --check-prefix=HOSTS < %t.hosts

// Where the target is given, measurements on it decide. On H200s a stream of its own costs a small permute more than it
// saves.
// ANY-LABEL: func.func public @small
// ANY: _xla_stream_annotation = "[[S1]]"
// ANY: _xla_stream_annotation = "[[S2]]"
// CHECK-LABEL: func.func public @small
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS008: Left as it is: 32 bytes are too few for a stream to pay on h200.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @small(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Large ones gain, inside one host by copies from device to device, where streams are not one communicator's.
// CHECK-LABEL: func.func public @large
// CHECK: _xla_stream_annotation = "[[S1]]"
// CHECK: _xla_stream_annotation = "[[S2]]"
// REMARK: remark: ACS009: Asked for copies from device to device: every permute stays inside a process.
// HOSTS-NOT: COLLECTIVES_PEER_MEMORY
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @large(%arg0: tensor<16777216xf32>, %arg1: tensor<16777216xf32>) -> (tensor<16777216xf32>, tensor<16777216xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<16777216xf32>) -> tensor<16777216xf32>
    return %0, %1 : tensor<16777216xf32>, tensor<16777216xf32>
  }
}

// -----

// XLA may divide what a computation is not manual over: of these 40 MiB a device may hold half, which is too little.
// CHECK-LABEL: func.func public @divided
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS008: Left as it is: 20971520 bytes are too few for a stream to pay on h200.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @divided(%arg0: tensor<20971520xf32>, %arg1: tensor<20971520xf32>) -> (tensor<20971520xf32>, tensor<20971520xf32>) {
    %0:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>, <@mesh, [{"x", ?}]>] manual_axes={"x"} (%arg2: tensor<10485760xf32>, %arg3: tensor<10485760xf32>) {
      %1 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<10485760xf32>) -> tensor<10485760xf32>
      %2 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<10485760xf32>) -> tensor<10485760xf32>
      sdy.return %1, %2 : tensor<10485760xf32>, tensor<10485760xf32>
    } : (tensor<20971520xf32>, tensor<20971520xf32>) -> (tensor<20971520xf32>, tensor<20971520xf32>)
    return %0#0, %0#1 : tensor<20971520xf32>, tensor<20971520xf32>
  }
}

// -----

// The first such copy of a run starts late: what is sent once must be larger ...
// CHECK-LABEL: func.func public @once
// CHECK-NOT: _xla_stream_annotation
// REMARK: remark: ACS008: Left as it is: 16777216 bytes are too few for a stream to pay on h200.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @once(%arg0: tensor<4194304xf32>, %arg1: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
    return %0, %1 : tensor<4194304xf32>, tensor<4194304xf32>
  }
}

// -----

// ... than what is sent again and again.
// CHECK-LABEL: func.func public @often
// CHECK: _xla_stream_annotation = "[[S1]]"
// CHECK: _xla_stream_annotation = "[[S2]]"
// REMARK: remark: ACS009: Asked for copies from device to device: every permute stays inside a process.
// REMARK: XLA_FLAGS="--xla_gpu_experimental_parallel_collective_overlap_limit=2 --xla_gpu_collective_permute_mode=COLLECTIVES_PEER_MEMORY"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @often(%arg0: tensor<4194304xf32>, %arg1: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>) {
    %start = stablehlo.constant dense<0> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %x = %arg0, %y = %arg1) : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
    cond {
      %end = stablehlo.constant dense<32> : tensor<i32>
      %more = stablehlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<4194304xf32>) -> tensor<4194304xf32>
      stablehlo.return %next, %0, %1 : tensor<i32>, tensor<4194304xf32>, tensor<4194304xf32>
    }
    return %r#1, %r#2 : tensor<4194304xf32>, tensor<4194304xf32>
  }
}
