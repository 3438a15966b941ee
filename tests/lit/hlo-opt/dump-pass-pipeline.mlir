// --dump-pass-pipeline prints what will run: named pipelines as their passes, of our options those that matter.
// RUN: hlo-opt %s --pass-pipeline='any(overlap, func.func(cse, canonicalize), canonicalize-permutes{})' --dump-pass-pipeline -o /dev/null 2> %t
// RUN: FileCheck %s < %t
// CHECK:      Pass Manager with 5 passes:
// CHECK-NEXT: builtin.module(canonicalize-permutes,merge-cross-host-transfers,assign-collective-streams,func.func(cse,canonicalize),canonicalize-permutes)

// What it prints is a pipeline again, and the same one.
// RUN: tail -n 1 %t > %t.pipeline
// RUN: cat %t.pipeline | xargs -I PIPELINE hlo-opt %s --pass-pipeline=PIPELINE --dump-pass-pipeline -o /dev/null 2> %t.again
// RUN: diff %t %t.again

func.func @f() {
  return
}
