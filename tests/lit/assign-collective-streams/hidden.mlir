// RUN: hlo-opt %s --assign-collective-streams --split-input-file 2>&1 >/dev/null | FileCheck %s

// No collective is here, but XLA's partitioner will make permutes of this roll.
// CHECK: hidden.mlir: remark: ACS014: There may be transfers that are not seen here: the module is sharded, and XLA's partitioner adds what has to be sent.
module @roll attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["s"=8]>
  func.func public @main(%arg0: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"s"}, {}]>}) -> tensor<64x8xf32> {
    %0 = stablehlo.slice %arg0 [63:64, 0:8] : (tensor<64x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.slice %arg0 [0:63, 0:8] : (tensor<64x8xf32>) -> tensor<63x8xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x8xf32>, tensor<63x8xf32>) -> tensor<64x8xf32>
    return %2 : tensor<64x8xf32>
  }
}

// -----

// The same in GSPMD's spelling.
// CHECK: ACS014: There may be transfers that are not seen here: the module is sharded
module @gspmd attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}) -> tensor<64xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

// What jax.experimental.custom_partitioning gives hides its transfers in Python until XLA asks.
// CHECK: ACS014: There may be transfers that are not seen here: a custom_partitioning says how a call is partitioned only when XLA asks it.
module @call attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64xf32>) -> tensor<64xf32> {
    %0 = stablehlo.custom_call @CustomSPMDPartitioning(%arg0) {api_version = 2 : i32, backend_config = "1"} : (tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

// What is replicated, or for one device, sends nothing. What has collectives says them.
// CHECK-NOT: ACS014
module @replicated attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["s"=8]>
  func.func public @main(%arg0: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<64xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}

// -----

module @said attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["s"=2]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"s"}]>}) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
