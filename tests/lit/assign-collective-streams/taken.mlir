// RUN: hlo-opt %s --assign-collective-streams=first-stream=8 --split-input-file 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Nothing is put on a stream that the user gave to something else: to a collective, to a call (this is what
// compute_on("gpu_stream:9") writes), or to compute in the way that XLA of jaxlib 0.12 takes.
// CHECK-LABEL: func.func public @main
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "8"}
// CHECK: call @compute_on(%arg0) {mhlo.frontend_attributes = {_xla_stream_annotation = "9", inlineable = "false"}}
// CHECK: add {{.*}}_xla_stream_annotation = " +10 "
// CHECK: collective_permute"(%arg1){{.*}}_xla_stream_annotation = "11", combiner_key = "hloverlap.0"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {_xla_stream_annotation = "8"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @compute_on(%arg0) {mhlo.frontend_attributes = {_xla_stream_annotation = "9", inlineable = "false"}} : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.add %arg1, %arg1 {mhlo.frontend_attributes = {_xla_stream_annotation = " +10 "}} : tensor<8xf32>
    %3 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @compute_on(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// What is in a communication domain stays there: XLA has a stream for it, and takes no other beside it.
// CHECK-LABEL: func.func public @domain
// CHECK: collective_permute"(%arg0){{.*}}{mhlo.frontend_attributes = {collective_communication_domain = "scale_up_fabric"}}
// CHECK: collective_permute"(%arg1){{.*}}_xla_stream_annotation = "8", combiner_key = "hloverlap.0"
// REMARK: remark: ACS004: Kept the communication domain 'scale_up_fabric' that was there.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @domain(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> {mhlo.frontend_attributes = {collective_communication_domain = "scale_up_fabric"}} : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}
