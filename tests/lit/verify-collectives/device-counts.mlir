// RUN: hlo-opt %s --verify-collectives --split-input-file --verify-diagnostics

// A module that does not say for how many devices it is.

module {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-warning@+1 {{VCL018: The module does not say for how many devices it is, which XLA takes for one, and its collectives need 4: give the module the attribute {mhlo.num_partitions = 4 : i32}.}}
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Without a channel the ids are those of replicas.

module attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-warning@+1 {{VCL018: The module does not say for how many devices it is, which XLA takes for one, and its collectives need 2: give the module the attribute {mhlo.num_replicas = 2 : i32}.}}
    %0 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// One device is enough for what is between nobody.

module {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
