// A target is a name, or a TOML file with what differs from a named one: here, a network so fast that nothing is won by
// merging.
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=%S/Inputs/fast.toml 2>&1 >/dev/null | FileCheck %s
// CHECK: remark: MCT011: Not merged: one packed permute would take about {{[0-9]+}} us on ours, apart {{[0-9]+}} us.

// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=cpu 2>%t.cpu >%t.mlir
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=gloo 2>&1 >/dev/null | cmp - %t.cpu

// RUN: not hlo-opt %s --target=h300 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: hlo-opt: error: there is no target 'h300', nor a file of this name; there are {{.*}}cpu (or gloo){{.*}}h200
// RUN: not hlo-opt %s --target=local 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: hlo-opt: error: target 'local' stands for the device that is there, and only hlo-audit looks for one

// RUN: printf 'base = "h200"\n[costs]\nlaunch = -1\n' > %t.bad
// RUN: not hlo-opt %s --target=%t.bad 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: hlo-opt: error: target '{{.*}}.bad': 'costs.launch' is a number above 0, not -1
// RUN: printf 'base = "h200"\n[costs]\nlunch = 1\n' > %t.bad
// RUN: not hlo-opt %s --target=%t.bad 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: hlo-opt: error: target '{{.*}}.bad': it has no 'costs.lunch'; did you mean 'launch'?
// RUN: printf '{"base": "h200", "launch": 1}' > %t.bad
// RUN: not hlo-opt %s --target=%t.bad 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: hlo-opt: error: target '{{.*}}.bad': it is JSON, and a target is TOML, such as: base = "h200", and below it [costs]
// RUN: printf 'gpu_device_info {\n}\n' > %t.bad
// RUN: not hlo-opt %s --target=%t.bad 2>&1 | FileCheck %s --check-prefix=PROTO
// PROTO: hlo-opt: error: target '{{.*}}.bad': it is a GpuTargetConfigProto, and a target is TOML: give that text between
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
