// A mistake on the command line is one line that says what to write instead.

// RUN: not hlo-opt %s --remarcs=json 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: hlo-opt: error: unknown flag '--remarcs'; did you mean '--remarks'? (see hlo-opt --help)

// RUN: not hlo-opt %s --nope 2>&1 | FileCheck %s --check-prefix=FAR --match-full-lines
// FAR: hlo-opt: error: unknown flag '--nope' (see hlo-opt --help)

// RUN: not hlo-opt %s --canonicalise 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: hlo-opt: error: unknown flag '--canonicalise'; did you mean '--canonicalize'? (see hlo-opt --help)

// RUN: not hlo-opt %s --emit=bytcode 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: hlo-opt: error: --emit is one of mlir, bytecode, portable, export, hlo, not 'bytcode'; did you mean 'bytecode'? (see hlo-opt --help)

// RUN: not hlo-opt %s --topology=2by4 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
// TOPOLOGY: hlo-opt: error: topology '2by4' is none of HOSTSxDEVICES, such as 2x4; HOSTSxPROCESSESxDEVICES, such as 2x4x1 for 2 hosts with 4 processes of 1 device each; or JSON, such as {"host":[0,0,1,1],"process":[0,1,2,3]}

// RUN: not hlo-opt %s --verify-each=maybe 2>&1 | FileCheck %s --check-prefix=BOOL
// BOOL: hlo-opt: error: --verify-each is true or false, not 'maybe'

// RUN: not hlo-opt %s --mlir-elide-elementsattrs-if-larger=few 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: hlo-opt: error: --mlir-elide-elementsattrs-if-larger is a whole number, not 'few'

// RUN: not hlo-opt %s -o 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: hlo-opt: error: -o needs a value: -o FILE

// RUN: not hlo-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: hlo-opt: error: one input at a time:

// RUN: not hlo-opt %s --split-input-file --emit=bytecode 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: hlo-opt: error: --split-input-file writes MLIR text: leave --emit out

func.func @f() {
  return
}
