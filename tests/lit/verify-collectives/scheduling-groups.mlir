// RUN: hlo-opt %s --verify-collectives --split-input-file --verify-diagnostics

// XLA refuses a scheduling group whose second part depends on the first one through other ops.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.sine %0 : tensor<8x8xf32>
    // expected-error@+1 {{VCL017: It runs 'f', in which ops are in the scheduling group '0', on what comes from the call of line}}
    %2 = call @f(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}

// -----

// Also through functions in between.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func private @g(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = call @g(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    // expected-error@+1 {{VCL017: It runs 'f'}}
    %1 = call @f(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}

// -----

// Calls that do not depend on each other are one group without a gap.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}

// -----

// A loop is a computation of its own.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] {mhlo.frontend_attributes = {_scheduling_group_id = "0"}}
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = call @f(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %z, %v = %0) : tensor<i32>, tensor<8x8xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<i32>
      %d = stablehlo.add %i, %o : tensor<i32>
      %q = func.call @f(%v) : (tensor<8x8xf32>) -> tensor<8x8xf32>
      stablehlo.return %d, %q : tensor<i32>, tensor<8x8xf32>
    }
    return %1#1 : tensor<8x8xf32>
  }
}
