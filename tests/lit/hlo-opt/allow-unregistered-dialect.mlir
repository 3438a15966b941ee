// Operations of dialects that JAX does not use are refused unless asked for.
// RUN: not hlo-opt %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: pass --allow-unregistered-dialect to let it through

// RUN: hlo-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(func.func(canonicalize))' | FileCheck %s
// CHECK: "my.op"() : () -> ()

func.func @f() {
  "my.op"() : () -> ()
  return
}
