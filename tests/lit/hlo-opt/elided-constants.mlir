// A module whose constants were left out when it was printed can be rewritten, but not run, compiled or handed on.
// RUN: hlo-opt %s --cse | FileCheck %s --check-prefix=REWRITTEN
// REWRITTEN: dense_resource<__elided__>
// RUN: not hlo-opt %s --cse --check 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: not hlo-opt %s --cse --check=interpreter 2>&1 | FileCheck %s --check-prefix=CHECKED
// CHECKED: check: not checked, and written all the same: not run: the constant of line 14 was elided when the module was printed; print the module with
// RUN: not hlo-opt %s --emit=portable 2>&1 | FileCheck %s --check-prefix=WRITTEN
// RUN: not hlo-opt %s --emit=hlo 2>&1 | FileCheck %s --check-prefix=WRITTEN
// WRITTEN: elided-constants.mlir: cannot be written so: the constant of line 14 was elided
// RUN: not hlo-audit %s --target=h200 2>&1 | FileCheck %s --check-prefix=AUDITED
// AUDITED: elided-constants.mlir: the constant of line 14 was elided

module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main() -> tensor<10xf32> { %0 = stablehlo.constant dense_resource<__elided__> : tensor<10xf32>
    return %0 : tensor<10xf32>
  }
}
