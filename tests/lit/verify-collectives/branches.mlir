// RUN: hlo-opt %s --verify-collectives --split-input-file --verify-diagnostics

// Devices that part ways wait for each other.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches, and branches 0 and 1 do not have the same collectives: those that come to the collective_permute of line}}
    %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
    %b = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The same collectives in the same order meet.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
    %b = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// An argument is taken to be the same everywhere.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %i = stablehlo.add %n, %n : tensor<i32>
    %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
    %b = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// What all devices have summed is the same everywhere.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %s = "stablehlo.all_reduce"(%p) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
    ^bb0(%l: tensor<ui32>, %m: tensor<ui32>):
      %t = stablehlo.add %l, %m : tensor<ui32>
      stablehlo.return %t : tensor<ui32>
    }) : (tensor<ui32>) -> tensor<ui32>
    %i = stablehlo.convert %s : (tensor<ui32>) -> tensor<i32>
    %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
    %b = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %b : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The id comes from the caller.

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func private @choose(%p: tensor<ui32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches, and branches 0 and 1 do not have the same collectives: those that come to the collective_permute of line}}
    %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %0 = call @choose(%p, %x, %y) : (tensor<ui32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %z = stablehlo.constant dense<0> : tensor<ui32>
    // expected-warning@+1 {{VCL012: A loop whose number of rounds can differ between devices 0 and 1, which meet in the collective_permute of line}}
    %r:2 = stablehlo.while(%c = %z, %v = %x) : tensor<ui32>, tensor<4xf32>
    cond {
      %t = stablehlo.compare LT, %c, %p : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<ui32>
      %d = stablehlo.add %c, %o : tensor<ui32>
    %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %d, %w : tensor<ui32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}

// -----

// Branches that go round the same collective a different number of times.

module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %p = stablehlo.partition_id : tensor<ui32>
    %i = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    // expected-warning@+1 {{VCL012: Devices 0 and 1 can take different branches}}
    %r = "stablehlo.case"(%i) ({
      %z = stablehlo.constant dense<0> : tensor<i32>
      %l:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %l#1 : tensor<4xf32>
    }, {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %l:2 = stablehlo.while(%c = %z, %v = %x) : tensor<i32>, tensor<4xf32>
      cond {
        %n = stablehlo.constant dense<4> : tensor<i32>
        %t = stablehlo.compare LT, %c, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %o = stablehlo.constant dense<1> : tensor<i32>
        %d = stablehlo.add %c, %o : tensor<i32>
        %w = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %d, %w : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %l#1 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
