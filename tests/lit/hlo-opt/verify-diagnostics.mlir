// With --verify-diagnostics every remark and error must be expected by a comment, and every expectation be met; nothing
// is printed then.
// RUN: %plugins hlo-opt %s --note --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=NOTHING --allow-empty
// NOTHING-NOT: module

// expected-remark@+1 {{NOTE1: seen next_line}}
func.func @next_line() {
  return
}

// expected-remark@below {{seen below}}
func.func @below() {
  return
}

func.func @same_line() { // expected-remark {{seen same_line}}
  return
}

func.func @above() {
  return
}
// expected-remark@-3 {{seen above}}

// expected-remark-re@below {{seen {{[a-z]+[0-9]}}}}
func.func @regex1() {
  return
}

// The line of another file is unknown here.
// expected-remark@unknown {{seen elsewhere}}
func.func @elsewhere() {
  return
} loc("train.py":17:3)

// -----

func.func @parser(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{custom op 'stablehlo.unheard_of' is unknown}}
  %0 = stablehlo.unheard_of %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @verifier(%a: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{type of return operand 0 ('tensor<4xf32>') doesn't match function result type}}
  return %a : tensor<4xf32>
}
