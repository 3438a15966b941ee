// --topology says which host each partition lives on: hosts x devices of each, or a list.
// RUN: hlo-opt %s --topology=2x2 | FileCheck %s
// RUN: hlo-opt %s --topology='[0,1,0,1]' | FileCheck %s
// CHECK: mhlo.num_partitions = 4

// It must have as many partitions as the module.
// RUN: not hlo-opt %s --topology=2x4 -o %t.none 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not ls %t.none
// SIZE: hlo-opt: error: the topology has 8 partitions but the module is for 4

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main() {
    return
  }
}
