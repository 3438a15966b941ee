// mlir-opt's flags for looking between the passes work for both kinds of pass.
// RUN: hlo-opt %s --cse --canonicalize-permutes --mlir-print-ir-before-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE:     IR Dump Before CSEPass
// BEFORE:     stablehlo.add
// BEFORE:     stablehlo.add
// BEFORE:     IR Dump Before canonicalize-permutes

// RUN: hlo-opt %s --cse --canonicalize-permutes --mlir-print-ir-after-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// AFTER-NOT:  IR Dump Before
// AFTER:      IR Dump After CSEPass
// AFTER:      IR Dump After canonicalize-permutes

// RUN: hlo-opt %s --cse --canonicalize-permutes --mlir-print-ir-after-change -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHANGE
// CHANGE:     IR Dump After CSEPass
// CHANGE-NOT: IR Dump After canonicalize-permutes

// RUN: hlo-opt %s --cse --canonicalize-permutes --mlir-timing -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMING
// TIMING: Execution time report
// TIMING: CSEPass
// TIMING: canonicalize-permutes

// RUN: hlo-opt %s --canonicalize-permutes --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS
// STATISTICS:      ... Pass statistics report ...
// STATISTICS:      canonicalize-permutes
// STATISTICS-NEXT:   (S)      0 num-

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  %1 = stablehlo.add %a, %a : tensor<4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
