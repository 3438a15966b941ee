// Every pass is a flag, ours and MLIR's, with its options behind '='. They run in the order of the flags.
// RUN: hlo-opt %s --symbol-dce --canonicalize='top-down=false max-iterations=3' --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s
// CHECK:      Pass Manager with 2 passes:
// CHECK-NEXT: builtin.module(symbol-dce,canonicalize{top-down=false max-iterations=3})

// RUN: hlo-opt %s --assign-collective-streams='max-streams=2 first-stream=4' --overlap --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=OURS
// OURS: builtin.module(assign-collective-streams{max-streams=2 first-stream=4},canonicalize-permutes,merge-cross-host-transfers,assign-collective-streams)

// A pass given twice runs twice.
// RUN: hlo-opt %s --cse --cse --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: builtin.module(cse,cse)

// RUN: not hlo-opt %s --cse --pass-pipeline='cse' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: hlo-opt: error: give --pass-pipeline or passes such as --cse, not both (see hlo-opt --help)

func.func @f() {
  return
}
