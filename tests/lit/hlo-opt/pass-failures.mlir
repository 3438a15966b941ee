// A pass that cannot do what it should, has a bug, or leaves a broken module: one line, and no output.

// RUN: not %plugins hlo-opt %s --refuse -o %t.none 2>&1 | FileCheck %s --check-prefix=REFUSE
// REFUSE: hlo-opt: error: refuse: the module has no music in it

// RUN: not %plugins hlo-opt %s --cse --stumble -o %t.none 2>&1 | FileCheck %s --check-prefix=STUMBLE
// STUMBLE-NOT: Traceback
// STUMBLE:     hlo-opt: error: stumble raised KeyError: 'no such key'

// HLOVERLAP_DEBUG=1 shows where.
// RUN: not env HLOVERLAP_DEBUG=1 %plugins hlo-opt %s --stumble -o %t.none 2>&1 | FileCheck %s --check-prefix=DEBUG
// DEBUG: Traceback
// DEBUG: example_passes.py
// DEBUG: hlo-opt: error: stumble raised KeyError: 'no such key'

// RUN: not %plugins hlo-opt %s --break -o %t.none 2>&1 | FileCheck %s --check-prefix=BREAK
// BREAK: hlo-opt: error: {{.*}}pass-failures.mlir:{{[0-9]+}}: 'func.func' op entry block must have 0 arguments to match function signature

// RUN: not ls %t.none

// The verifier after each pass can be left out.
// RUN: %plugins hlo-opt %s --break --verify-each=false | FileCheck %s --check-prefix=UNVERIFIED
// UNVERIFIED: function_type = () -> ()

func.func @f(%a: tensor<4xf32>) {
  return
}
