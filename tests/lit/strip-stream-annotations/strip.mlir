// RUN: hlo-opt %s --strip-stream-annotations 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Only what assign-collective-streams put in goes: the first is ours; the second is the user's, also with a key of
// the user's; and of ours, the attributes beside it stay.
// RUN: hlo-opt %s --assign-collective-streams --strip-stream-annotations 2>/dev/null | FileCheck %s
// CHECK-DAG: collective_permute"(%arg0) {{.*}}}> : (tensor<8xf32>)
// CHECK-DAG: collective_permute"(%arg1) {{.*}}{_xla_stream_annotation = "4", combiner_key = "theirs"}
// CHECK-DAG: collective_permute"(%arg2) {{.*}}{mhlo.frontend_attributes = {theirs = "kept"}}
// REMARK-COUNT-2: remark: SSA001: Removed the stream annotation that assign-collective-streams added.
// REMARK-NOT: remark
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "3", combiner_key = "hloverlap.0"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "4", combiner_key = "theirs"}} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "5", combiner_key = "hloverlap.1", theirs = "kept"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}
