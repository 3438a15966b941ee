// RUN: hlo-opt %s --canonicalize-permutes --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// A target whose XLA joins nothing gains nothing by an order.
// RUN: hlo-opt %s --canonicalize-permutes --split-input-file --target=cpu 2>&1 >/dev/null | FileCheck %s --check-prefix=CPU
// CPU-NOT: CPE001

// The two directions around a ring of two devices are one and the same permute. XLA joins independent permutes only if
// their pairs are equal in the same order, so they are put in ascending order.
// CHECK-LABEL: func.func public @both_ways_around_two
// CHECK: %[[A:.+]] = "stablehlo.collective_permute"(%arg0) {{.*}}dense<{{\[\[}}0, 1], [1, 0]]>
// CHECK: %[[B:.+]] = "stablehlo.collective_permute"(%arg1) {{.*}}dense<{{\[\[}}0, 1], [1, 0]]>
// CHECK: return %[[A]], %[[B]]
// REMARK: remark: CPE001: Put the source-target pairs in ascending order, so that XLA joins it with others like it.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @both_ways_around_two(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Every device sends to itself: the permute is its operand.
// CHECK-LABEL: func.func public @identity
// CHECK-NEXT: return %arg0
// REMARK: remark: CPE002: Removed: every device sends its value to itself.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @identity(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A device that no pair names gets zeros, so this one is no identity.
// CHECK-LABEL: func.func public @partial_identity
// CHECK: stablehlo.collective_permute
// REMARK: remark: CPE004: Kept, though it sends nothing: it names 1 devices of 2; the others get zeros.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @partial_identity(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Replica ids count against the replicas: two pairs cover two replicas, however many partitions there are.
// CHECK-LABEL: func.func public @identity_of_replicas
// CHECK-NEXT: return %arg0
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @identity_of_replicas(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// What carries attributes of the user is kept for them.
// CHECK-LABEL: func.func public @identity_with_attributes
// CHECK: stablehlo.collective_permute{{.*}}theirs = "kept"
// REMARK: remark: CPE005: Kept, though it sends nothing: it carries the attribute theirs.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @identity_with_attributes(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>}> {mhlo.frontend_attributes = {theirs = "kept"}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Equal permutes of one value are one. Another value, other pairs or another mode make another permute.
// CHECK-LABEL: func.func public @shared
// CHECK-COUNT-3: stablehlo.collective_permute
// CHECK-NOT: stablehlo.collective_permute
// CHECK: return %0, %0, %1, %2
// REMARK: remark: CPE003: Removed: it sends the same value the same way as the collective_permute of line
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 4 : i32} {
  func.func public @shared(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, source_target_pairs = dense<[[2, 3], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Nothing is shared across a barrier: the user may have put it there so that the data is sent twice.
// CHECK-LABEL: func.func public @across_a_barrier
// CHECK: stablehlo.collective_permute
// CHECK: stablehlo.optimization_barrier
// CHECK: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @across_a_barrier(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.optimization_barrier %0 : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// What is alone gains nothing by another order, so it keeps its own: jax's transpose of a permute is always unsorted.
// REMARK-NOT: CPE001
// CHECK-LABEL: func.func public @alone
// CHECK: dense<{{\[\[}}1, 0], [0, 1]]>
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @alone(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Nor does one that waits for the other.
// CHECK-LABEL: func.func public @in_turn
// CHECK: dense<{{\[\[}}0, 1], [1, 0]]>
// CHECK: dense<{{\[\[}}1, 0], [0, 1]]>
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @in_turn(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.negate %0 : tensor<4xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----

// Where equal ones are made one, that one keeps its order.
// CHECK-LABEL: func.func public @shared_unsorted
// CHECK: dense<{{\[\[}}1, 0], [0, 1]]>
// CHECK-NEXT: return %0, %0
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @shared_unsorted(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
