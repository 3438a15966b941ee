// RUN: hlo-opt %s --merge-cross-host-transfers=strategy=concat --topology=2x2 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The same pairs: the operands are packed flat, sent once, and unpacked. Integers and wide floats go as they are.
// CHECK-LABEL: func.func public @same_type
// CHECK: %[[A:.+]] = stablehlo.reshape %arg0 : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK: %[[B:.+]] = stablehlo.reshape %arg1 : (tensor<f32>) -> tensor<1xf32>
// CHECK: %[[P:.+]] = stablehlo.concatenate %[[A]], %[[B]], dim = 0
// CHECK: %[[S:.+]] = "stablehlo.collective_permute"(%[[P]]) {{.*}}tensor<9xf32>
// CHECK: stablehlo.slice %[[S]] [0:8]
// CHECK: stablehlo.slice %[[S]] [8:9]
// REMARK: remark: MCT001: Merged with 1 other into one packed permute of 36 bytes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @same_type(%arg0: tensor<2x4xf32>, %arg1: tensor<f32>) -> (tensor<2x4xf32>, tensor<f32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<2x4xf32>, tensor<f32>
  }
}

// -----

// Different types are packed as bits: no value is converted, so a NaN keeps its payload. Those of one type stand side by
// side, and all in the widest units, up to 32 bits, of which each type fills a whole number: narrower ones in planes, the
// first half of the bf16 below the second. What does not fill a byte gets one; a complex number goes as its two parts,
// here beside the other f32.
// CHECK-LABEL: func.func public @mixed_types
// CHECK-DAG: stablehlo.bitcast_convert %arg1 : (tensor<8xbf16>) -> tensor<8xui16>
// CHECK-DAG: stablehlo.convert %arg2 : (tensor<8xi1>) -> tensor<8xui8>
// CHECK-DAG: stablehlo.bitcast_convert %arg3 : (tensor<8xi4>) -> tensor<8xui4>
// CHECK-DAG: stablehlo.real %arg4
// CHECK-DAG: stablehlo.imag %arg4
// CHECK: %[[F32:.+]] = stablehlo.concatenate %arg0, %{{.+}}, %{{.+}}, dim = 0 : {{.*}} -> tensor<24xf32>
// CHECK: stablehlo.bitcast_convert %[[F32]] : (tensor<24xf32>) -> tensor<24xui32>
// CHECK-DAG: %[[LOW:.+]] = stablehlo.convert %{{.+}} : (tensor<4xui16>) -> tensor<4xui32>
// CHECK-DAG: %[[HIGH:.+]] = stablehlo.convert %{{.+}} : (tensor<4xui16>) -> tensor<4xui32>
// CHECK: %[[SHIFTED:.+]] = stablehlo.shift_left %[[HIGH]], %{{.+}} : tensor<4xui32>
// CHECK: stablehlo.or %[[LOW]], %[[SHIFTED]] : tensor<4xui32>
// CHECK: "stablehlo.collective_permute"({{.*}}tensor<32xui32>
// CHECK-NOT: stablehlo.collective_permute
// CHECK: stablehlo.and %{{.+}} : tensor<4xui32>
// CHECK: stablehlo.shift_right_logical %{{.+}} : tensor<4xui32>
// CHECK: stablehlo.complex
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @mixed_types(%arg0: tensor<8xf32>, %arg1: tensor<8xbf16>, %arg2: tensor<8xi1>, %arg3: tensor<8xi4>, %arg4: tensor<8xcomplex<f32>>) -> (tensor<8xf32>, tensor<8xbf16>, tensor<8xi1>, tensor<8xi4>, tensor<8xcomplex<f32>>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi1>) -> tensor<8xi1>
    %3 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xi4>) -> tensor<8xi4>
    %4 = "stablehlo.collective_permute"(%arg4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<8xbf16>, tensor<8xi1>, tensor<8xi4>, tensor<8xcomplex<f32>>
  }
}

// -----

// Narrow floats are packed as bits even among themselves: XLA may compute with them in a wider type.
// CHECK-LABEL: func.func public @narrow_floats
// CHECK: stablehlo.bitcast_convert %arg0 : (tensor<8xbf16>) -> tensor<8xui16>
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @narrow_floats(%arg0: tensor<8xbf16>, %arg1: tensor<8xbf16>) -> (tensor<8xbf16>, tensor<8xbf16>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xbf16>) -> tensor<8xbf16>
    return %0, %1 : tensor<8xbf16>, tensor<8xbf16>
  }
}

// -----

// Partial pairs: a device without a source gets zeros, of which zeros are unpacked. Order of the pairs is no matter.
// CHECK-LABEL: func.func public @partial
// CHECK-COUNT-1: stablehlo.collective_permute
// CHECK-NOT: stablehlo.collective_permute
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @partial(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[1, 3], [0, 2]]> : tensor<2x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Only equal pairs can share a packed transfer, and only equal attributes.
// CHECK-LABEL: func.func public @nothing_in_common
// CHECK-COUNT-3: stablehlo.collective_permute
// REMARK: Not merged: no other one has the same pairs and attributes.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @nothing_in_common(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {theirs = "a"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Merging the F permutes makes the second B permute need the first: what would be a cycle is left, and said.
// CHECK-LABEL: func.func public @cycle
// CHECK-COUNT-3: stablehlo.collective_permute
// CHECK-NOT: stablehlo.collective_permute
// REMARK: remark: MCT006: Not merged: merging it with the collective_permute of line {{.*}} would make a cycle with what was merged before.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @cycle(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Six bits cannot be packed bit for bit.
// CHECK-LABEL: func.func public @six_bits
// CHECK-COUNT-2: stablehlo.collective_permute
// REMARK: Not merged: elements of type f6E2M3FN cannot be packed bit for bit.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @six_bits(%arg0: tensor<8xf6E2M3FN>, %arg1: tensor<8xf6E2M3FN>) -> (tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf6E2M3FN>) -> tensor<8xf6E2M3FN>
    return %0, %1 : tensor<8xf6E2M3FN>, tensor<8xf6E2M3FN>
  }
}
