// RUN: hlo-opt %s --pass-pipeline='builtin.module(partition)' --check -o %t.mlir 2>%t.remarks
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hlo-opt %t.mlir --pass-pipeline='builtin.module(partition)' -o %t.again.mlir
// RUN: diff %t.mlir %t.again.mlir
// RUN: hlo-opt %s --pass-pipeline='builtin.module(partition,overlap)' 2>/dev/null | FileCheck %s --check-prefix=OVERLAP

// An array, divided among four devices, is rolled both ways. Who sends what to whom only the partitioner knows: it goes
// first, and its two permutes are ops. What `main` takes and gives stays, with its names and donation; the sharding of
// the result, which the program leaves to XLA, is the one that XLA chose.
// CHECK:      sdy.mesh @mesh = <["x"=4]>
// CHECK:      func.func public @main(%[[X:.+]]: tensor<16xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK-SAME:     -> (tensor<16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK-NEXT:   %[[WHOLE:.+]] = sdy.manual_computation(%[[X]]) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%[[PART:.+]]: tensor<4xf32>) {
// CHECK:          stablehlo.slice %[[PART]] [3:4]
// CHECK-NEXT:     "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3], [3, 0]]>
// CHECK:          "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 3], [1, 0], [2, 1], [3, 2]]>
// CHECK:          sdy.return %{{.+}} : tensor<4xf32>
// CHECK:        return %[[WHOLE]]
// REMARK: model.py:11: remark: PAR001: This collective_permute is the partitioner's.
// REMARK: model.py:12: remark: PAR001: This collective_permute is the partitioner's.
// REMARK: check: equal

// Passes after it find them.
// OVERLAP-COUNT-2: _xla_stream_annotation
module @jit_roll attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.slice %arg0 [15:16] : (tensor<16xf32>) -> tensor<1xf32> loc("roll"("model.py":11:1))
    %1 = stablehlo.slice %arg0 [0:15] : (tensor<16xf32>) -> tensor<15xf32> loc("roll"("model.py":11:1))
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<15xf32>) -> tensor<16xf32> loc("roll"("model.py":11:1))
    %3 = stablehlo.slice %arg0 [1:16] : (tensor<16xf32>) -> tensor<15xf32> loc("roll"("model.py":12:1))
    %4 = stablehlo.slice %arg0 [0:1] : (tensor<16xf32>) -> tensor<1xf32> loc("roll"("model.py":12:1))
    %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<15xf32>, tensor<1xf32>) -> tensor<16xf32> loc("roll"("model.py":12:1))
    %6 = stablehlo.add %2, %5 : tensor<16xf32>
    return %6 : tensor<16xf32>
  }
}
