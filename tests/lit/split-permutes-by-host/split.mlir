// RUN: hlo-opt %s --split-permutes-by-host --topology=2x2 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Around a ring over two hosts of two, every other step leaves the host.
// CHECK-LABEL: func.func public @ring
// CHECK-DAG: %[[IN:.+]] = "stablehlo.collective_permute"(%[[X:.+]]) {{.*}}dense<{{\[\[}}0, 1], [2, 3]]>
// CHECK-DAG: %[[BETWEEN:.+]] = "stablehlo.collective_permute"(%[[X]]) {{.*}}dense<{{\[\[}}1, 2], [3, 0]]>
// CHECK-DAG: stablehlo.constant dense<[true, false, true, false]>
// CHECK: %[[R:.+]] = stablehlo.select {{.*}}, %[[BETWEEN]], %[[IN]] : tensor<i1>, tensor<8xf32>
// CHECK: sdy.return %[[R]]
// REMARK: remark: SPH001: Split: 2 pairs inside the hosts and 2 pairs between them, 32 bytes a device.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @ring(%arg0: tensor<32xf32>) -> tensor<32xf32> {
    %m = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0 : tensor<8xf32>
    } : (tensor<32xf32>) -> tensor<32xf32>
    return %m : tensor<32xf32>
  }
}

// -----

// One kind of pairs, or what a device keeps: there is nothing to split.
// CHECK-LABEL: func.func public @one_kind
// CHECK-COUNT-3: stablehlo.collective_permute
// CHECK-NOT: select
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @one_kind(%arg0: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %m:3 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %2 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1, %m#2 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @declined
// CHECK-COUNT-2: stablehlo.collective_permute
// CHECK-NOT: select
// REMARK: remark: SPH003: Not split by host: it carries the attribute theirs.
// REMARK: remark: SPH004: Not split by host: no select of a tensor<8xf6E2M3FN> is known to keep every bit.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @declined(%arg0: tensor<32xf32>, %arg1: tensor<32xf6E2M3FN>) -> (tensor<32xf32>, tensor<32xf6E2M3FN>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf6E2M3FN>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {theirs = "kept"}} : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
      sdy.return %0, %1 : tensor<8xf32>, tensor<8xf6E2M3FN>
    } : (tensor<32xf32>, tensor<32xf6E2M3FN>) -> (tensor<32xf32>, tensor<32xf6E2M3FN>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf6E2M3FN>
  }
}

// -----

// CHECK-LABEL: func.func public @no_manual_computation
// CHECK-NEXT: stablehlo.collective_permute
// REMARK: remark: SPH005: Not split by host: a device cannot ask for its partition id outside of a computation that is manual over all axes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @no_manual_computation(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
