// RUN: hlo-opt %s --pass-pipeline='builtin.module(partition)' --split-input-file --verify-diagnostics
// RUN: hlo-opt %s --pass-pipeline='builtin.module(partition)' --split-input-file --remarks=none -o %t.mlir
// RUN: hlo-opt %s --split-input-file -o %t.as-it-was.mlir
// RUN: diff %t.as-it-was.mlir %t.mlir

// Nothing is divided on one device, and nothing is left to divide in a manual computation over all axes: no remark.
module {
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    return %arg0 : tensor<16xf32>
  }
}

// -----

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<4xf32>) {
      sdy.return %arg1 : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// Replicas are each divided in the same way, but a manual computation has no word for them.
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {
  // expected-remark@+1 {{PAR002: Not partitioned first: it is for several replicas.}}
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// The rule by which the partitioner divides it is a Python function of the process that lowered it.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  // expected-remark@+1 {{PAR002: Not partitioned first: it uses custom_partitioning, whose rule only the process that lowered it has.}}
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<16xf32> {
    %0 = stablehlo.custom_call @CustomSPMDPartitioning(%arg0) : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
}

// -----

// What XLA refuses, it refuses here too; its words say why.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  // expected-remark@+1 {{PAR002: Not partitioned first: the partitioner refused}}
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<ui32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}
