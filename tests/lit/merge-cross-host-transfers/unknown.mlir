// Whether merging pays rests on what transfers cost. Where nobody said what the result will run on, or where that is not
// known of it, nothing is merged unless it was asked for.
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 2>%t.none | FileCheck %s
// RUN: FileCheck %s --check-prefix=NONE < %t.none
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=%S/Inputs/bare.toml 2>%t.bare | FileCheck %s
// RUN: FileCheck %s --check-prefix=BARE < %t.bare
// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=group --topology=2x2 2>/dev/null | FileCheck %s --check-prefix=GROUP

// XLA 0.10.2 lets no compute run beside a group, so that there a group is out of the question.
// NONE-COUNT-2: remark: {{MCT017: Not merged: nobody said what the result will run on, and so what transfers cost; give a target, such as h200|MCT010: Not merged: this version of XLA lets no compute run beside a group}}.
// BARE-COUNT-2: remark: {{MCT017: Not merged: what it costs on bare is not known; a target file with costs.same_process says it|MCT010: Not merged: this version of XLA lets no compute run beside a group}}.
// CHECK-NOT: collectives_group
// GROUP: call @{{.*}}collectives_group
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
