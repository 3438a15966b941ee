// The output is written whole or not at all; '-' is stdin and stdout.
// RUN: cat %s | hlo-opt - -o - | FileCheck %s
// RUN: hlo-opt %s -o %t.mlir && FileCheck %s < %t.mlir
// RUN: hlo-opt %s -o%t.2.mlir && FileCheck %s < %t.2.mlir
// CHECK: func.func @f

// RUN: not hlo-opt %s -o %t.no/such/folder 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: hlo-opt: error:

// RUN: not hlo-opt %t.nothing 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: hlo-opt: error: {{.*}}.nothing: cannot be read: No such file or directory

func.func @f() {
  return
}
