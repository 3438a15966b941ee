// A target is a name, or a JSON file with the constants that differ from a named one: here, a network so fast that
// nothing is won by merging.
// RUN: echo '{"base": "gloo", "name": "ours", "launch": 0.01, "cross_host": {"latency": 0.01}, "copy": 0.001}' > %t.json
// RUN: hlo-opt %s --merge-cross-host-transfers --topology=2x2 --target=%t.json 2>&1 >/dev/null | FileCheck %s
// CHECK: remark: MCT011: Not merged: one packed permute would take about {{[0-9]+}} us on ours, apart {{[0-9]+}} us.

// RUN: not hlo-opt %s --target=h300 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: hlo-opt: error: --target=h300: there is no target 'h300'; there are a100, h100, h200, b200, gloo
// RUN: echo '{"base": "gloo", "launch": -1}' > %t.bad
// RUN: not hlo-opt %s --target=%t.bad 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: hlo-opt: error: --target={{.*}}: this is no target (every time and bandwidth is a number above 0); give a JSON object
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
