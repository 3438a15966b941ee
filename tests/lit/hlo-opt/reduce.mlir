// RUN: hlo-opt %samples/gpipe.mlir --reduce="hlo-opt {} --assign-collective-streams 2>&1 | grep -q ACS002" -o %t.mlir 2>%t.said
// RUN: FileCheck %s --check-prefix=SAID < %t.said
// RUN: FileCheck %s < %t.mlir
// RUN: not hlo-opt %s --reduce=false 2>&1 | FileCheck %s --check-prefix=NEVER
// RUN: not hlo-opt %s --reduce=true --cse 2>&1 | FileCheck %s --check-prefix=PASSES

// A whole training step comes down to the one permute that the command is about.
// SAID: hlo-opt: reduced {{[0-9][0-9][0-9]}} ops to {{[0-9]}} in {{[0-9]+}} runs of the command
// CHECK-COUNT-1: stablehlo.collective_permute
// CHECK-NOT: stablehlo.while
// NEVER: hlo-opt: error: --reduce: 'false' does not exit with 0 on {{.*}}reduce.mlir as it is
// PASSES: hlo-opt: error: --reduce runs no passes: give them to its COMMAND

func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
