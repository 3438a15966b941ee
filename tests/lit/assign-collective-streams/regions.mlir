// RUN: hlo-opt %s --assign-collective-streams --split-input-file 2>/dev/null | FileCheck %s

// A permute outside a loop that the loop does not need can be in flight while the whole loop runs.
// CHECK-LABEL: func.func public @across_a_loop
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S1]]"
// CHECK: stablehlo.while
// CHECK: collective_permute"(%iterArg{{.*}}_xla_stream_annotation = "[[S2]]"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @across_a_loop(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg1) : tensor<i32>, tensor<8xf32>
    cond {
      %2 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = "stablehlo.collective_permute"(%iterArg_0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %3 = stablehlo.add %iterArg, %one : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<8xf32>
    }
    return %0, %1#1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// One that feeds the loop is done before the loop begins, also if it does so from outside (%0 is no loop argument).
// CHECK-LABEL: func.func public @captured_by_a_loop
// CHECK-NOT: _xla_stream_annotation
// CHECK: return
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @captured_by_a_loop(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg1) : tensor<i32>, tensor<8xf32>
    cond {
      %2 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = "stablehlo.collective_permute"(%iterArg_0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %3 = stablehlo.add %2, %0 : tensor<8xf32>
      %4 = stablehlo.add %iterArg, %one : tensor<i32>
      stablehlo.return %4, %3 : tensor<i32>, tensor<8xf32>
    }
    return %1#1 : tensor<8xf32>
  }
}

// -----

// Two branches never run both, and two loops never run at once: one permute in each has nothing beside it.
// CHECK-LABEL: func.func public @branches_and_loops
// CHECK-NOT: _xla_stream_annotation
// CHECK: return %
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @branches_and_loops(%arg0: tensor<8xf32>, %arg1: tensor<i32>, %arg2: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = "stablehlo.case"(%arg1) ({
      %2 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %2 : tensor<8xf32>
    }, {
      %2 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      stablehlo.return %2 : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg2) : tensor<i32>, tensor<8xf32>
    cond {
      %2 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = "stablehlo.collective_permute"(%iterArg_0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %3 = stablehlo.add %iterArg, %one : tensor<i32>
      stablehlo.return %3, %2 : tensor<i32>, tensor<8xf32>
    }
    return %0, %1#1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Calls, composites and manual computations are looked through: XLA inlines them.
// CHECK-LABEL: func.func public @looked_through
// CHECK: collective_permute"(%arg2){{.*}}_xla_stream_annotation = "[[S1]]"
// CHECK-LABEL: func.func private @backward
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S2]]"
// CHECK-LABEL: func.func private @shift
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S3]]"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @looked_through(%arg0: tensor<32xf32>, %arg1: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %0:3 = sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<8xf32>, %arg3: tensor<8xf32>) {
      %1 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
      %2 = func.call @backward(%arg3) : (tensor<8xf32>) -> tensor<8xf32>
      %3 = stablehlo.composite "mine.shift" %arg3 {decomposition = @shift} : (tensor<8xf32>) -> tensor<8xf32>
      sdy.return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    } : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
    return %0#0, %0#1, %0#2 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  func.func private @backward(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @shift(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A function without collectives passes on what its result really depends on: %1 needs only %arg1, so the second
// permute does not wait for the first.
// CHECK-LABEL: func.func public @second_argument
// CHECK: collective_permute"(%arg0){{.*}}_xla_stream_annotation = "[[S1]]"
// CHECK: collective_permute"(%1){{.*}}_xla_stream_annotation = "[[S2]]"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @second_argument(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @second(%0, %arg1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0, %2 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @second(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %arg1, %arg1 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A function that is called from several places is one op but several executions. Where these need different streams,
// the function is copied; where they agree it stays one: both calls of the chain use @shift. The call in the loop can be
// in flight with that chain.
// CHECK-LABEL: func.func public @called_from_several_places
// CHECK: %0 = call @shift(%arg0)
// CHECK: call @shift_streams(%iterArg
// CHECK: %2 = call @shift(%0)
// CHECK-LABEL: func.func private @shift(
// CHECK: {{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.0"
// CHECK-LABEL: func.func private @shift_streams(
// CHECK: {{.*}}_xla_stream_annotation = "[[S2]]", combiner_key = "hloverlap.1"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @called_from_several_places(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = call @shift(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg1) : tensor<i32>, tensor<8xf32>
    cond {
      %3 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = func.call @shift(%iterArg_0) : (tensor<8xf32>) -> tensor<8xf32>
      %4 = stablehlo.add %iterArg, %one : tensor<i32>
      stablehlo.return %4, %3 : tensor<i32>, tensor<8xf32>
    }
    %2 = call @shift(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1#1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  func.func private @shift(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Independent executions that share a stream for want of more must not share a function: with one key between them,
// XLA would join them and lose the annotation.
// CHECK-LABEL: func.func public @executions_that_share_a_stream
// CHECK: call @turn(%arg0)
// CHECK: call @turn_streams(%arg1)
// CHECK-LABEL: func.func private @turn(
// CHECK: {{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.0"
// CHECK-LABEL: func.func private @turn_streams(
// CHECK: {{.*}}_xla_stream_annotation = "[[S1]]", combiner_key = "hloverlap.1"
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @executions_that_share_a_stream(%arg0: tensor<65536xf32>, %arg1: tensor<65536xf32>, %arg2: tensor<65536xf32>, %arg3: tensor<65536xf32>) -> (tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>) {
    %0 = "stablehlo.collective_permute"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %1 = "stablehlo.collective_permute"(%arg3) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    %2 = call @turn(%arg0) : (tensor<65536xf32>) -> tensor<65536xf32>
    %3 = call @turn(%arg1) : (tensor<65536xf32>) -> tensor<65536xf32>
    return %0, %1, %2, %3 : tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>, tensor<65536xf32>
  }
  func.func private @turn(%arg0: tensor<65536xf32>) -> tensor<65536xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<65536xf32>) -> tensor<65536xf32>
    return %0 : tensor<65536xf32>
  }
}
