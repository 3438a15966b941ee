// A program whose devices take different branches, in which they wait for each other, would run for ever. A check ends it,
// and says where each process waits, and that the rewrite is not to blame. It could not be checked: the output is written.
// RUN: not hlo-opt %s --cse --check=processes -o %t.mlir 2>&1 | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s < %t.mlir
// SAID: not run: on ordinary inputs, seed 0, the program itself waits for ever:
// SAID-SAME: process 0 in the all_reduce of line 17, process 1 in the collective_permute of line 24;
// SAID-SAME: the rewritten one waits, too; the same data goes over the wire
// CHECK: func.func public @main
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}]>] manual_axes={"d"} (%x: tensor<4xf32>) {
      %device = stablehlo.partition_id : tensor<ui32>
      %zero = stablehlo.constant dense<0> : tensor<ui32>
      %first = stablehlo.compare EQ, %device, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      %1 = "stablehlo.if"(%first) ({
        %2 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %3 = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %3 : tensor<f32>
        }) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }, {
        %2 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %2 : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
