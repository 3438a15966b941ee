// RUN: hlo-opt %s --join-partial-permutes --topology=2x2 --target=h200 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Each device sends what the permute sends in which it is a source, and keeps what arrives for the one in which it is a
// target. A device asks for its id and looks up in a table which one that is.
// CHECK-LABEL: func.func public @there_and_back
// CHECK: sdy.manual_computation
// CHECK-DAG: %[[FROM:.+]] = stablehlo.constant dense<[false, false, true, false]> : tensor<4xi1>
// CHECK: stablehlo.partition_id
// CHECK: %[[WHICH:.+]] = stablehlo.reshape {{.*}} -> tensor<i1>
// CHECK: %[[SENT:.+]] = stablehlo.select %[[WHICH]], %[[Y:.+]], %[[X:.+]] : tensor<i1>, tensor<8xf32>
// CHECK: %[[P:.+]] = "stablehlo.collective_permute"(%[[SENT]]) {{.*}}dense<{{\[\[}}0, 2], [2, 0]]>
// CHECK: stablehlo.constant dense<[false, false, true, false]> : tensor<4xi1>
// CHECK: %[[A:.+]] = stablehlo.select {{.*}}, %[[P]], {{.*}} : tensor<i1>, tensor<8xf32>
// CHECK: stablehlo.constant dense<[true, false, false, false]> : tensor<4xi1>
// CHECK: %[[B:.+]] = stablehlo.select {{.*}}, %[[P]], {{.*}} : tensor<i1>, tensor<8xf32>
// CHECK: sdy.return %[[A]], %[[B]]
// REMARK: remark: JPP001: Joined with 1 other into one permute, about {{[0-9]+}} us on h200 instead of {{[0-9]+}} us.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @there_and_back(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// One value sent by both needs no select before. Floats under 32 bits are selected as bits.
// CHECK-LABEL: func.func public @one_value
// CHECK: manual_computation{{.*}}(%[[X:.+]]: tensor<8xbf16>)
// CHECK-NEXT: "stablehlo.collective_permute"(%[[X]]) {{.*}}dense<{{\[\[}}0, 2], [1, 3], [2, 1]]>
// CHECK: stablehlo.select {{.*}} : tensor<i1>, tensor<8xui16>
// CHECK: stablehlo.select {{.*}} : tensor<i1>, tensor<8xui16>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @one_value(%arg0: tensor<32xbf16>) -> (tensor<32xbf16>, tensor<32xbf16>) {
    %m:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xbf16>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
      %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
      sdy.return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
    } : (tensor<32xbf16>) -> (tensor<32xbf16>, tensor<32xbf16>)
    return %m#0, %m#1 : tensor<32xbf16>, tensor<32xbf16>
  }
}

// -----

// A source can send only one thing, and a target get only one.
// CHECK-LABEL: func.func public @a_source_or_a_target_in_common
// CHECK-COUNT-3: stablehlo.collective_permute
// REMARK: remark: JPP002: Not joined with another one: none of its type that is ready at the same time has other sources and other targets.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @a_source_or_a_target_in_common(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %m:3 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %2 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 1], [0, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1, %m#2 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// Other types, and one that has to wait for the other.
// CHECK-LABEL: func.func public @unlike
// CHECK-COUNT-3: stablehlo.collective_permute
// CHECK-NOT: select
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @unlike(%arg0: tensor<32xf32>, %arg1: tensor<32xi32>) -> (tensor<32xf32>, tensor<32xi32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xi32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %2 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 3]]> : tensor<1x2xi64>}> : (tensor<8xi32>) -> tensor<8xi32>
      sdy.return %1, %2 : tensor<8xf32>, tensor<8xi32>
    } : (tensor<32xf32>, tensor<32xi32>) -> (tensor<32xf32>, tensor<32xi32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xi32>
  }
}

// -----

// Nothing moves across a barrier.
// CHECK-LABEL: func.func public @past_a_barrier
// CHECK: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.optimization_barrier
// CHECK-NEXT: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @past_a_barrier(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = stablehlo.optimization_barrier %y : tensor<8xf32>
      %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %2 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// The user's attributes stay where they are.
// CHECK-LABEL: func.func public @annotated_by_the_user
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: JPP003: Not joined with another one: it carries the attribute _xla_stream_annotation.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @annotated_by_the_user(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3"}} : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// A type without a zero, and one without a select that keeps its bits.
// CHECK-LABEL: func.func public @types
// CHECK-COUNT-4: stablehlo.collective_permute
// REMARK: remark: JPP004: Not joined with another one: no select of a tensor<8xf8E8M0FNU> is known to keep every bit.
// REMARK: remark: JPP004: Not joined with another one: no select of a tensor<8xf6E2M3FN> is known to keep every bit.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @types(%arg0: tensor<32xf8E8M0FNU>, %arg1: tensor<32xf6E2M3FN>) -> (tensor<32xf8E8M0FNU>, tensor<32xf8E8M0FNU>, tensor<32xf6E2M3FN>, tensor<32xf6E2M3FN>) {
    %m:4 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf8E8M0FNU>, %y: tensor<8xf6E2M3FN>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf8E8M0FNU>) -> tensor<8xf8E8M0FNU>
      %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf8E8M0FNU>) -> tensor<8xf8E8M0FNU>
      %2 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
      %3 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
      sdy.return %0, %1, %2, %3 : tensor<8xf8E8M0FNU>, tensor<8xf8E8M0FNU>, tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>
    } : (tensor<32xf8E8M0FNU>, tensor<32xf6E2M3FN>) -> (tensor<32xf8E8M0FNU>, tensor<32xf8E8M0FNU>, tensor<32xf6E2M3FN>, tensor<32xf6E2M3FN>)
    return %m#0, %m#1, %m#2, %m#3 : tensor<32xf8E8M0FNU>, tensor<32xf8E8M0FNU>, tensor<32xf6E2M3FN>, tensor<32xf6E2M3FN>
  }
}

// -----

// XLA knows no partition id in what it has still to partition: outside of a manual computation …
// CHECK-LABEL: func.func public @no_manual_computation
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: JPP005: Not joined with another one: a device cannot ask for its partition id outside of a computation that is manual over all axes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @no_manual_computation(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// … and in one that leaves an axis of the mesh to it.
// CHECK-LABEL: func.func public @partly_manual
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: remark: JPP005:
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @partly_manual(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    return %m#0, %m#1 : tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// A function that is called from manual computations alone is as good as one, and replicas can be asked everywhere.
// CHECK-LABEL: func.func private @body
// CHECK: stablehlo.partition_id
// CHECK: stablehlo.select
// CHECK-LABEL: func.func private @replicas
// CHECK: stablehlo.replica_id
// CHECK: stablehlo.select
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 3 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @called(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0:2 = func.call @body(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      sdy.return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf32>
  }
  func.func private @body(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @replicas(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
