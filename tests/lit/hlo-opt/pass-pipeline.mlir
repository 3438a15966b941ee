// Passes of ours and of MLIR stand in one pipeline, in any order and nesting.
// RUN: hlo-opt %s --pass-pipeline='builtin.module(symbol-dce,func.func(cse),canonicalize-permutes)' | FileCheck %s

// A bare list of passes stands in the module; blanks and line ends do not matter; one dash is as good as two.
// RUN: hlo-opt %s -pass-pipeline ' symbol-dce , func.func( cse ) ' | FileCheck %s

// Without passes the module is verified and printed, like with mlir-opt.
// RUN: hlo-opt < %s | FileCheck %s --check-prefix=AS-IS

// CHECK:     func.func public @main
// CHECK:       %[[SUM:.*]] = stablehlo.add
// CHECK-NEXT:  stablehlo.multiply %[[SUM]], %[[SUM]]
// CHECK-NOT: @unused
// AS-IS-COUNT-2: stablehlo.add
// AS-IS: @unused

func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  %1 = stablehlo.add %a, %a : tensor<4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @unused() {
  return
}
