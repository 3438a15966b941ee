// Transfers in Shardy's form are counted and said once, with the way to make ops of them.

// RUN: hlo-opt %s --verify-collectives 2>&1 >/dev/null | FileCheck %s
// RUN: hlo-opt %s --overlap 2>&1 >/dev/null | FileCheck %s --check-prefix=OVERLAP
// CHECK: warning: VCL020: Transfers in Shardy's form, which no pass sees: 2 sdy.all_gather, 1 sdy.all_reduce. The MLIR pass sdy-convert-global-to-local makes ops of them, in the program of one device; in jax.shard_map they are ops from the start.
// CHECK-NOT: VCL020
// OVERLAP: remark: ACS015: Transfers in Shardy's form, which no pass sees: 2 sdy.all_gather, 1 sdy.all_reduce.

// It does.
// RUN: hlo-opt %s --pass-pipeline='builtin.module(sdy-convert-global-to-local,verify-collectives)' 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL-NOT: VCL020
// LOCAL: stablehlo.all_gather
// LOCAL: stablehlo.all_gather
// LOCAL: stablehlo.all_reduce

module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.all_gather [{}, {"y"}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x16xf32>
    %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
    %2 = sdy.all_reduce {"y"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
    return %2 : tensor<16x16xf32>
  }
}
