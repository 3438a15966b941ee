// RUN: hlo-opt %s --assign-collective-streams=max-streams=2 2>%t.remarks | FileCheck %s --check-prefix=TWO
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %s --assign-collective-streams=first-stream=5 2>/dev/null | FileCheck %s --check-prefix=FROM5
// RUN: hlo-opt %s --assign-collective-streams=collectives=all 2>/dev/null | FileCheck %s --check-prefix=ALL
// RUN: hlo-opt %s --assign-collective-streams=max-streams=1 2>/dev/null | FileCheck %s --check-prefix=ONE
// RUN: not hlo-opt %s --assign-collective-streams=max-streams=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not hlo-opt %s --assign-collective-streams=collectives=some 2>&1 | FileCheck %s --check-prefix=SOME

// Two streams for three permutes: the third shares the one with fewer bytes. XLA may start all three at once, so the
// limit is 3: with a lower one it would make one synchronous.
// TWO: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S1]]"
// TWO: collective_permute"(%arg1){{.*}}_xla_stream_annotation = "[[S2]]"
// TWO: collective_permute"(%arg2){{.*}}_xla_stream_annotation = "[[S1]]"
// REMARK: Put on stream [[S1]]: {{.*}} It shares the stream with the collective_permute of line {{[0-9]+}}: more than max-streams=2 can be in flight at once, or the two use the same links.
// REMARK: XLA_FLAGS="--xla_gpu_experimental_parallel_collective_overlap_limit=3"

// FROM5: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "5"
// FROM5: collective_permute"(%arg1){{.*}}_xla_stream_annotation = "6"
// FROM5: collective_permute"(%arg2){{.*}}_xla_stream_annotation = "7"
// FROM5: all_gather
// FROM5-NOT: _xla_stream_annotation

// ALL: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S1]]"
// ALL: all_gather"(%arg0){{.*}}_xla_stream_annotation = "[[S4]]"

// ONE-NOT: _xla_stream_annotation
// ZERO: error: {{.*}}max-streams=0 leaves no stream to use; give at least 1
// SOME: error: {{.*}}'some' is not one of permute, all
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<32xf32>
    return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32xf32>
  }
}
