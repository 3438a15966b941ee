// A mistake is one line; nothing is compiled.

// RUN: not hlo-audit %s --target=h300 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: hlo-audit: error: there is no target 'h300', nor a file of this name; there are {{.*}}h200

// RUN: not hlo-audit %s --topology=1x2 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: hlo-audit: error: topology '1x2' has 2 devices but the module is for 4

// RUN: not hlo-audit %s --topology=[0,1,0,1] 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: hlo-audit: error: topology '[0,1,0,1]' cannot be told to XLA, which numbers the devices host by host and process by process, as many on each

// RUN: not hlo-audit %s --fail-on='serialised>0' 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: hlo-audit: error: budget 'serialised>0' names no metric; there are failed, collectives, launches, serialized,

// RUN: not hlo-audit %s --xla-option=xla_gpu_dot_merger_threshold_mb 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: hlo-audit: error: --xla-option 'xla_gpu_dot_merger_threshold_mb' is not like xla_gpu_dot_merger_threshold_mb=0

// RUN: not hlo-audit %s %s --pass-pipeline=overlap 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: hlo-audit: error: give a second module or --pass-pipeline, not both

// RUN: not hlo-audit %s --pass-pipeline=overlop 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: hlo-audit: error: {{.*}}'overlop'

// RUN: not hlo-audit %s.missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: hlo-audit: error: {{.*}}usage-errors.mlir.missing: cannot be read: No such file or directory

// RUN: not hlo-audit %s --formt=json 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: hlo-audit: error: unrecognized arguments: --formt=json (see hlo-audit --help)

// RUN: hlo-audit --help | FileCheck %s --check-prefix=HELP
// HELP: exit status (docs/exit-status.md):
// HELP: 4    the second module is worse than the first, or XLA compiles no module that it is given

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
