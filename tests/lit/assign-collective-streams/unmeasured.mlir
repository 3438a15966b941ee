// Where a target is given of which nobody has measured from what size on a stream pays, none is given. A file can say it.
// RUN: printf '[compiler]\nbackend = "gpu"\n' > %t-gpu.toml
// RUN: hlo-opt %s --assign-collective-streams --target=%t-gpu.toml 2>&1 | FileCheck %s
// CHECK-COUNT-2: remark: ACS011: Left as it is: whether a stream pays on {{.*}}-gpu is not known; a target file with costs.stream_bytes says it.
// CHECK-NOT: {{XLA_FLAGS|"3"}}
// CHECK: func.func public @small
// CHECK-NOT: "3"
// RUN: printf '[compiler]\nbackend = "gpu"\n[costs]\nstream_bytes = 32\n' > %t-said.toml
// RUN: hlo-opt %s --assign-collective-streams --target=%t-said.toml 2>&1 | FileCheck %s --check-prefix=SAID
// SAID-COUNT-2: remark: ACS001: Put on stream
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @small(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
