// RUN: hlo-opt %s --hoist-permutes --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Of 512 bytes that arrive 64 are needed, so 64 are sent.
// CHECK-LABEL: func.func public @slice
// CHECK-NEXT: %[[S:.+]] = stablehlo.slice %arg0 [7:8, 0:16]
// CHECK-NEXT: %[[P:.+]] = "stablehlo.collective_permute"(%[[S]]) {{.*}}(tensor<1x16xf32>) -> tensor<1x16xf32>
// CHECK-NEXT: return %[[P]]
// REMARK: remark: HSP001: Sends 64 bytes instead of 512: the slice after it is done first.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @slice(%arg0: tensor<8x16xf32>) -> tensor<1x16xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [7:8, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    return %1 : tensor<1x16xf32>
  }
}

// -----

// Reshapes and transposes on the way to a slice or a convert come along; those after the last one need not.
// CHECK-LABEL: func.func public @on_the_way
// CHECK-NEXT: stablehlo.transpose %arg0
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: %[[C:.+]] = stablehlo.convert {{.*}} -> tensor<16x1xbf16>
// CHECK-NEXT: %[[P:.+]] = "stablehlo.collective_permute"(%[[C]]) {{.*}}tensor<16x1xbf16>
// CHECK-NEXT: stablehlo.reshape %[[P]]
// REMARK: remark: HSP001: Sends 32 bytes instead of 512: the transpose and slice and convert after it are done first.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @on_the_way(%arg0: tensor<8x16xf32>) -> tensor<16xbf16> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %2 = stablehlo.slice %1 [0:16, 0:1] : (tensor<16x8xf32>) -> tensor<16x1xf32>
    %3 = stablehlo.convert %2 : (tensor<16x1xf32>) -> tensor<16x1xbf16>
    %4 = stablehlo.reshape %3 : (tensor<16x1xbf16>) -> tensor<16xbf16>
    return %4 : tensor<16xbf16>
  }
}

// -----

// A reshape alone makes nothing smaller, and a convert to a wider type makes more of it.
// CHECK-LABEL: func.func public @not_smaller
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.reshape
// CHECK-NEXT: stablehlo.convert
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @not_smaller(%arg0: tensor<8x16xf32>) -> tensor<128xf64> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<8x16xf32>) -> tensor<128xf32>
    %2 = stablehlo.convert %1 : (tensor<128xf32>) -> tensor<128xf64>
    return %2 : tensor<128xf64>
  }
}

// -----

// Devices that nothing is sent to have zeros, and a slice and a convert of zeros are zeros.
// CHECK-LABEL: func.func public @partial
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: "stablehlo.collective_permute"({{.*}}tensor<8x16xi8>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @partial(%arg0: tensor<8x16xf32>) -> tensor<8x16xi8> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.convert %0 : (tensor<8x16xf32>) -> tensor<8x16xi8>
    return %1 : tensor<8x16xi8>
  }
}

// -----

// This type has no zero, and integers of four bits are not what every network of devices can send.
// CHECK-LABEL: func.func public @types_to_keep_away_from
// CHECK-COUNT-2: collective_permute{{.*}}tensor<8x16xf32>
// REMARK: remark: HSP006: Not hoisted, though what comes after it makes it smaller: elements of type f8E8M0FNU are no data that every device can be sent.
// REMARK: remark: HSP006: Not hoisted, though what comes after it makes it smaller: elements of type i4 are no data that every device can be sent.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @types_to_keep_away_from(%arg0: tensor<8x16xf32>) -> (tensor<8x16xf8E8M0FNU>, tensor<8x16xi4>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.convert %0 : (tensor<8x16xf32>) -> tensor<8x16xf8E8M0FNU>
    %2 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = stablehlo.convert %2 : (tensor<8x16xf32>) -> tensor<8x16xi4>
    return %1, %3 : tensor<8x16xf8E8M0FNU>, tensor<8x16xi4>
  }
}

// -----

// Next to a convert before the permute XLA would take both for nothing; a NaN would keep the payload that it now loses.
// CHECK-LABEL: func.func public @converted_before
// CHECK: "stablehlo.collective_permute"({{.*}}tensor<8x16xf32>
// REMARK: remark: HSP004: Not hoisted, though what comes after it makes it smaller: it was converted before, and XLA would join both converts to one.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @converted_before(%arg0: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
    %0 = stablehlo.convert %arg0 : (tensor<8x16xbf16>) -> tensor<8x16xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %2 = stablehlo.convert %1 : (tensor<8x16xf32>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

// -----

// Two slices would be two messages.
// CHECK-LABEL: func.func public @used_twice
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// REMARK: remark: HSP002: Not hoisted, though what comes after it makes it smaller: it is used in more than one place.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @used_twice(%arg0: tensor<8x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [0:1, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.slice %0 [7:8, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    return %1, %2 : tensor<1x16xf32>, tensor<1x16xf32>
  }
}

// -----

// All of it is needed; there is nothing to say.
// CHECK-LABEL: func.func public @needed_as_it_is
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// REMARK-NOT: remark: HSP002
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @needed_as_it_is(%arg0: tensor<8x16xf32>) -> (tensor<1x16xf32>, tensor<8x16xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [0:1, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.negate %0 : tensor<8x16xf32>
    return %1, %2 : tensor<1x16xf32>, tensor<8x16xf32>
  }
}

// -----

// Nothing moves across a barrier.
// CHECK-LABEL: func.func public @past_a_barrier
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.optimization_barrier
// CHECK-NEXT: stablehlo.slice
// REMARK: remark: HSP003: Not hoisted, though what comes after it makes it smaller: a barrier, a side effect or the edge of a region is in between.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @past_a_barrier(%arg0: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<1x16xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.optimization_barrier %arg0 : tensor<8x16xf32>
    %2 = stablehlo.slice %0 [0:1, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    return %1, %2 : tensor<8x16xf32>, tensor<1x16xf32>
  }
}

// -----

// What others wrote on the slice says something about where it stands; what they wrote on the permute, about what it
// sends.
// CHECK-LABEL: func.func public @attributes_of_others
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.slice
// REMARK: remark: HSP005: Not hoisted, though what comes after it makes it smaller: it carries the attribute theirs.
// REMARK: remark: HSP005: Not hoisted, though what comes after it makes it smaller: the slice carries the attribute theirs.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @attributes_of_others(%arg0: tensor<8x16xf32>) -> (tensor<1x16xf32>, tensor<1x16xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {theirs = "kept"}} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = stablehlo.slice %0 [0:1, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %2 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %3 = stablehlo.slice %2 [0:1, 0:16] {theirs = 1 : i32} : (tensor<8x16xf32>) -> tensor<1x16xf32>
    return %1, %3 : tensor<1x16xf32>, tensor<1x16xf32>
  }
}

// -----

// CHECK-LABEL: func.func public @dynamic_shape
// CHECK-NEXT: "stablehlo.collective_permute"(%arg0)
// CHECK-NEXT: stablehlo.convert
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @dynamic_shape(%arg0: tensor<?xf32>) -> tensor<?xbf16> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<?xf32>) -> tensor<?xf32>
    %1 = stablehlo.convert %0 : (tensor<?xf32>) -> tensor<?xbf16>
    return %1 : tensor<?xbf16>
  }
}
