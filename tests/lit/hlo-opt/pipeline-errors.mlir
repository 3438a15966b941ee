// A mistake in a pipeline: one sentence, the nearest valid name, and a caret at the character. Nothing is written.

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(assign-collective-stream{max-streams=2})' -o %t.none 2>&1 | FileCheck %s --check-prefix=NAME --strict-whitespace --match-full-lines
// RUN: not ls %t.none
//      NAME:hlo-opt: error: unknown pass 'assign-collective-stream'; did you mean 'assign-collective-streams'?
// NAME-NEXT:  builtin.module(assign-collective-stream{max-streams=2})
// NAME-NEXT:                 ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(assign-collective-streams{max-stream=2})' 2>&1 | FileCheck %s --check-prefix=OPTION --strict-whitespace --match-full-lines
//      OPTION:hlo-opt: error: 'assign-collective-streams' has no option 'max-stream'; did you mean 'max-streams'?
// OPTION-NEXT:  builtin.module(assign-collective-streams{max-stream=2})
// OPTION-NEXT:                                           ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(assign-collective-streams{max-streams=two})' 2>&1 | FileCheck %s --check-prefix=VALUE --strict-whitespace --match-full-lines
//      VALUE:hlo-opt: error: option 'max-streams': 'two' is not an integer
// VALUE-NEXT:  builtin.module(assign-collective-streams{max-streams=two})
// VALUE-NEXT:                                                       ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(cse,canonicalize{top-dwn=false})' 2>&1 | FileCheck %s --check-prefix=MLIR --strict-whitespace --match-full-lines
//      MLIR:hlo-opt: error: 'canonicalize' has no option 'top-dwn'; did you mean 'top-down'?
// MLIR-NEXT:  builtin.module(cse,canonicalize{top-dwn=false})
// MLIR-NEXT:                                  ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(fun.func(cse))' 2>&1 | FileCheck %s --check-prefix=ANCHOR --strict-whitespace --match-full-lines
//      ANCHOR:hlo-opt: error: there is no operation 'fun.func' to run passes on; did you mean 'func.func'?
// ANCHOR-NEXT:  builtin.module(fun.func(cse))
// ANCHOR-NEXT:                 ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(func.func(canonicalize-permutes))' 2>&1 | FileCheck %s --check-prefix=PLACE --strict-whitespace --match-full-lines
//      PLACE:hlo-opt: error: 'canonicalize-permutes' runs on builtin.module but stands in func.func(...)
// PLACE-NEXT:  builtin.module(func.func(canonicalize-permutes))
// PLACE-NEXT:                           ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(overlap{max-streams=2})' 2>&1 | FileCheck %s --check-prefix=NAMED --strict-whitespace --match-full-lines
//      NAMED:hlo-opt: error: pipeline 'overlap' takes no options
// NAMED-NEXT:  builtin.module(overlap{max-streams=2})
// NAMED-NEXT:                         ^

// RUN: not hlo-opt %s --pass-pipeline='builtin.module(func.func(cse)' 2>&1 | FileCheck %s --check-prefix=OPEN --strict-whitespace --match-full-lines
//      OPEN:hlo-opt: error: this '(' is never closed
// OPEN-NEXT:  builtin.module(func.func(cse)
// OPEN-NEXT:                ^

// Passes given as flags are shown as the pipeline that they make.
// RUN: not hlo-opt %s --cse --assign-collective-streams=max-stream=2 2>&1 | FileCheck %s --check-prefix=FLAG --strict-whitespace --match-full-lines
//      FLAG:hlo-opt: error: 'assign-collective-streams' has no option 'max-stream'; did you mean 'max-streams'?
// FLAG-NEXT:  builtin.module(cse,assign-collective-streams{max-stream=2})
// FLAG-NEXT:                                               ^

func.func @f() {
  return
}
