// What is expected and does not come, and what comes unexpected, fails the run.
// RUN: not %plugins hlo-opt %s --note --verify-diagnostics 2>&1 | FileCheck %s
// CHECK:      verify-diagnostics-failures.mlir:11: error: unexpected remark: NOTE1: seen unexpected
// CHECK-NEXT: verify-diagnostics-failures.mlir:7: error: expected warning "seen expected" was not produced
// CHECK-NEXT: verify-diagnostics-failures.mlir:8: error: expected remark "NOTE9" was not produced

// expected-warning@+2 {{seen expected}}
// expected-remark@+1 {{NOTE9}}

// The severity counts, too.
func.func @unexpected() {
  return
}
