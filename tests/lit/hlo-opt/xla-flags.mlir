// A pass may need XLA options for its rewrite to take effect. They are printed as one line to copy; of two values for
// one option the larger holds.
// RUN: %plugins hlo-opt %s --note=times=2 --note=times=1 --remarks=none -o /dev/null 2>&1 | FileCheck %s --match-full-lines
// CHECK: XLA_FLAGS="--xla_gpu_noted=2"

// RUN: hlo-opt %s --cse -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE --allow-empty
// NONE-NOT: XLA_FLAGS

// They are XLA:GPU's, so for another target there are none.
// RUN: hlo-opt %samples/ring_matmul.mlir --overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: XLA_FLAGS="--xla_gpu_
// RUN: hlo-opt %samples/ring_matmul.mlir --overlap --target=cpu -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: ACS001
// CPU-NOT: XLA_FLAGS

func.func @f() {
  return
}
