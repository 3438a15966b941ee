// Parts between marker lines are modules of their own, and come out the same way. Line numbers are those of the file.
// RUN: %plugins hlo-opt %s --split-input-file --note 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t
// CHECK:     module {
// CHECK:       func.func @first
// CHECK:     // -----
// CHECK:     module {
// CHECK:       func.func @second
// REMARKS:      split-input-file.mlir:13: remark: NOTE1: seen first
// REMARKS-NEXT: split-input-file.mlir:19: remark: NOTE1: seen second
// REMARKS-NEXT: XLA_FLAGS="--xla_gpu_noted=1"

func.func @first() {
  return
}

// -----

func.func @second() {
  return
}

// -----
