// What MLIR itself warns of comes among the remarks, in its turn, and has no code.
// RUN: %plugins hlo-opt %s --note='word=before' --composite-fixed-point-pass='max-iterations=1 pipeline=cse' --note='word=after' -o /dev/null 2>&1 | FileCheck %s
// CHECK:      remark: NOTE1: before main
// CHECK-NEXT: warning: Composite pass "CompositeFixedPointPass"+ didn't converge in 1 iterations
// CHECK-NEXT: remark: NOTE1: after main

// RUN: hlo-opt %s --composite-fixed-point-pass='max-iterations=1 pipeline=cse' -o /dev/null --remarks=json 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: {"code": "", "severity": "warning", "message": "Composite pass {{.*}} converge in 1 iterations", "op": "", "file": "{{.*}}warnings.mlir", "line": 0}

// RUN: hlo-opt %s --composite-fixed-point-pass='max-iterations=1 pipeline=cse' -o /dev/null --remarks=sarif 2>&1 | FileCheck %s --check-prefix=SARIF
// SARIF: "ruleId": "MLIR"
// SARIF-NEXT: "level": "warning"

// RUN: hlo-opt %s --composite-fixed-point-pass='max-iterations=1 pipeline=cse' --verify-diagnostics
// expected-warning@unknown {{didn't converge in 1 iterations}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.add %x, %x : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
