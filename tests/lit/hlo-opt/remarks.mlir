// Remarks go to stderr, each at the line of the program that was traced, where the module carries it, else at the line
// of the module.
// RUN: %plugins hlo-opt %s --note -o /dev/null 2>&1 | FileCheck %s
// CHECK:      train.py:17: remark: NOTE1: seen traced
// CHECK-NEXT: remarks.mlir:{{[0-9]+}}: remark: NOTE1: seen here

// Those that are alike are one line with a count. --remarks=all prints each.
// RUN: %plugins hlo-opt %s --note=times=3 -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALIKE
// ALIKE:      train.py:17: remark: NOTE1: seen traced (3 times)
// ALIKE-NEXT: remark: NOTE1: seen here (3 times)
// RUN: %plugins hlo-opt %s --note=times=3 -o /dev/null --remarks=all 2>&1 | FileCheck %s --check-prefix=ALL --match-full-lines
// ALL-COUNT-3: train.py:17: remark: NOTE1: seen traced

// --remarks=json prints one object a line, for programs.
// RUN: %plugins hlo-opt %s --note -o /dev/null --remarks=json 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: {"code": "NOTE1", "severity": "remark", "message": "seen traced", "op": "func.func", "file": "train.py", "line": 17}

// RUN: %plugins hlo-opt %s --note -o /dev/null --remarks=none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE-NOT: NOTE1

// A remark that is an error makes the run fail.
// RUN: not %plugins hlo-opt %s --complain -o %t.none 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not ls %t.none
// ERROR: hlo-opt: error: {{.*}}remarks.mlir: error: NOTE4: this is wrong

func.func @traced() {
  return
} loc("train.py":17:3)
func.func @here() {
  return
}
