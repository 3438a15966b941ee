// RUN: hlo-opt %s --verify-collectives --split-input-file --verify-diagnostics
// REQUIRES: jaxlib-0.10

// What XLA of jaxlib 0.10.2 makes of calls that it is told to keep whole, with a collective inside: it compiles them
// in straight-line code while one collective at a time may be in flight.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @send(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-warning@+1 {{VCL003: A stream annotation on a call of 'send', which holds a collective: this XLA compiles it outside of loops only}}
    %0 = func.call @send(%x) {mhlo.frontend_attributes = {_xla_stream_annotation = "5", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @send(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c7 = stablehlo.constant dense<7> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %more = stablehlo.compare LT, %i, %c7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %c1 : tensor<i32>
      // expected-error@+1 {{VCL003: A stream annotation on a call of 'send'}}
      %moved = func.call @send(%y) {mhlo.frontend_attributes = {_xla_stream_annotation = "5", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %next, %moved : tensor<i32>, tensor<8xf32>
    }
    return %loop#1 : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @send(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-warning@+1 {{VCL016: A group that is to stay whole}}
    %0 = func.call @send(%x) {mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @send(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c7 = stablehlo.constant dense<7> : tensor<i32>
    %loop:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %more = stablehlo.compare LT, %i, %c7 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %c1 : tensor<i32>
      // expected-warning@+1 {{VCL016: A group that is to stay whole}}
      %moved = func.call @send(%y) {mhlo.frontend_attributes = {_collectives_group = "", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %next, %moved : tensor<i32>, tensor<8xf32>
    }
    return %loop#1 : tensor<8xf32>
  }
}

// -----

// An annotation is not taken on other compute, so its text is no matter.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %x {mhlo.frontend_attributes = {_xla_stream_annotation = "fast"}} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A collective that the program starts and ends itself is refused: XLA knows no such custom call yet.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error@+1 {{VCL019: It starts a collective by a custom call, which XLA of this jaxlib does not know: it refuses the module. Write the collective itself, or use jaxlib 0.12.}}
    %0 = stablehlo.custom_call @"all-gather-start"(%x) {mhlo.frontend_attributes = {async_collective_config = "{\22all_gather_dimension\22: 0, \22replica_groups\22: [[0, 1, 2, 3]], \22channel_id\22: 1}"}} : (tensor<8xf32>) -> tensor<32xf32>
    %1 = stablehlo.custom_call @"all-gather-done"(%0) : (tensor<32xf32>) -> tensor<32xf32>
    %2 = stablehlo.slice %1 [0:8] : (tensor<32xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
