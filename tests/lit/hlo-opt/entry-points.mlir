// An installed package brings passes through the entry-point group `hloverlap.passes`: they are flags, stand in
// pipelines and are listed like the built-in ones.
// RUN: %plugins hlo-opt %s --note=mark | FileCheck %s
// RUN: %plugins hlo-opt %s --pass-pipeline='builtin.module(func.func(cse,note-function),note{mark=true})' | FileCheck %s
// CHECK: func.func @f() attributes {noted}

// RUN: %plugins hlo-opt --list-passes | FileCheck %s --check-prefix=LIST

// Without the package there is no such pass.
// RUN: not hlo-opt %s --note 2>&1 | FileCheck %s --check-prefix=GONE
// GONE: unknown flag '--note'

// LIST: not-importable
// LIST-NEXT:   cannot be loaded: ModuleNotFoundError: No module named 'example_missing'
// LIST: note
// LIST-NEXT:   Notes every function.

// A broken package is named, not the victim of a traceback.
// RUN: not %plugins hlo-opt %s --not-importable 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: hlo-opt: error: pass 'not-importable' cannot be loaded: ModuleNotFoundError: No module named 'example_missing'

func.func @f() {
  return
}
