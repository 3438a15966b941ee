// What XLA refuses in a module is said of the module: no option and no target is to blame, whatever the words.

// RUN: not hlo-audit %s --no-cache > %t
// RUN: FileCheck %s --input-file=%t
// CHECK: error: HLA001: XLA refused the module: {{.*}}'sdy.all_gather' op collective on operand without sharding
// CHECK-NEXT: hint: HLA103: sdy.all_gather of line {{[0-9]+}}: Transfers in Shardy's form, which no pass sees: 2 sdy.all_gather, 1 sdy.all_reduce.

// Of an option that XLA does not have, it is.
// RUN: not hlo-audit %s --no-cache --xla-option=xla_gpu_no_such_option=1 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: hlo-audit: error: XLA does not take an option or the target: {{.*}}xla_gpu_no_such_option

module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%a: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.all_gather [{}, {"y"}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x16xf32>
    %1 = sdy.all_gather [{"x"}, {}] %0 out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
    %2 = sdy.all_reduce {"y"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
    return %2 : tensor<16x16xf32>
  }
}
