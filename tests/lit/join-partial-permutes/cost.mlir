// RUN: hlo-opt %s --join-partial-permutes --topology=1x1x4 --target=cpu 2>&1 >/dev/null | FileCheck %s --check-prefix=CPU
// RUN: hlo-opt %s --join-partial-permutes --topology=2x2 --target=h200 2>&1 >/dev/null | FileCheck %s --check-prefix=H200
// RUN: hlo-opt %s --join-partial-permutes --topology=2x2 2>&1 >/dev/null | FileCheck %s --check-prefix=NONE
// RUN: hlo-opt %s --join-partial-permutes --topology=2x2 --target=b200 2>&1 >/dev/null | FileCheck %s --check-prefix=UNMEASURED

// The selects read and write everything. On two CPU cores that takes longer than a second message to the same host;
// on a GPU a second message to another host takes longer.
// CPU-COUNT-2: remark: JPP006: Not joined with another one: with the collective_permute of line {{[0-9]+}} it would take about {{[0-9]+}} us on cpu, apart {{[0-9]+}} us.
// H200-COUNT-2: remark: JPP001: Joined with 1 other into one permute, about {{[0-9]+}} us on h200 instead of {{[0-9]+}} us.
// What that takes is not known where no target is given, nor where nobody has measured it.
// NONE-COUNT-2: remark: JPP007: Not joined with another one: nobody said what the result will run on, and so what transfers cost; give a target, such as h200.
// UNMEASURED-COUNT-2: remark: JPP007: Not joined with another one: what it costs on b200 is not known; a target file with costs.pack says it.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4194304xf32>, %arg1: tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>) {
    %m:2 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%x: tensor<1048576xf32>, %y: tensor<1048576xf32>) {
      %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<1048576xf32>) -> tensor<1048576xf32>
      %1 = "stablehlo.collective_permute"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[2, 0]]> : tensor<1x2xi64>}> : (tensor<1048576xf32>) -> tensor<1048576xf32>
      sdy.return %0, %1 : tensor<1048576xf32>, tensor<1048576xf32>
    } : (tensor<4194304xf32>, tensor<4194304xf32>) -> (tensor<4194304xf32>, tensor<4194304xf32>)
    return %m#0, %m#1 : tensor<4194304xf32>, tensor<4194304xf32>
  }
}
