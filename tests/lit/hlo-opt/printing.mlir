// RUN: hlo-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS
// LOCATIONS: loc("train.py":17:3)

// RUN: hlo-opt %s | FileCheck %s --check-prefix=PLAIN
// PLAIN:     stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
// PLAIN-NOT: train.py

// RUN: hlo-opt %s --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDED
// ELIDED: dense_resource<__elided__>

// RUN: hlo-opt %s --emit=bytecode | hlo-opt --emit=mlir | FileCheck %s --check-prefix=PLAIN

func.func @f() -> tensor<3xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> loc("train.py":17:3)
  return %0 : tensor<3xf32>
}
