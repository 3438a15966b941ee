// RUN: hlo-opt %s --split-permutes-by-host=min-bytes=33 --topology=2x2 2>&1 | FileCheck %s --check-prefix=MIN
// RUN: hlo-opt %s --split-permutes-by-host 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not hlo-opt %s --split-permutes-by-host=min-bytes=-1 --topology=2x2 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: hlo-opt %s --split-permutes-by-host --merge-cross-host-transfers=strategy=concat --topology=2x2 2>/dev/null | FileCheck %s --check-prefix=ROUTES

// MIN: remark: SPH002: Not split by host: a device sends 32 bytes, fewer than min-bytes=33.
// NOWHERE: remark: SPH000: No permute was split: without a topology no permute is known to cross hosts; give one, such as 2x4.
// BAD: error: {{.*}}min-bytes=-1 is no size; give at least 0
// Each half takes its own route: what leaves the hosts is packed into one message, and what stays is not.
// ROUTES-COUNT-2: "stablehlo.collective_permute"({{.*}}dense<{{\[\[}}0, 1], [2, 3]]>{{.*}}tensor<8xf32>
// ROUTES: "stablehlo.collective_permute"({{.*}}dense<{{\[\[}}1, 2], [3, 0]]>{{.*}}tensor<16xf32>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %0, %1 : tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
    return %m#0, %m#1 : tensor<32xf32>, tensor<32xf32>
  }
}
