// --topology says where each partition is: hosts x devices of each, or a list of each partition's host ...
// RUN: hlo-opt %s --topology=2x2 | FileCheck %s
// RUN: hlo-opt %s --topology='[0,1,0,1]' | FileCheck %s
// ... and which process owns its device: hosts x processes of each x devices of each, or JSON that says all.
// RUN: hlo-opt %s --topology=1x4x1 | FileCheck %s
// RUN: hlo-opt %s --topology='{"host": [0,0,1,1], "process": [0,1,2,2]}' | FileCheck %s
// RUN: hlo-opt %s --topology='{"host": null, "process": [0,0,1,1]}' | FileCheck %s
// CHECK: mhlo.num_partitions = 4

// It must have as many partitions as the module.
// RUN: not hlo-opt %s --topology=2x4 -o %t.none 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not ls %t.none
// SIZE: hlo-opt: error: the topology has 8 partitions but the module is for 4; give that of its own devices, such as 1x4 for one host, or the host of each, such as [0,0,1,1]

// What cannot be is told in one sentence.
// RUN: not hlo-opt %s --topology='{"host": [0,1], "process": [0]}' 2>&1 | FileCheck %s --check-prefix=LENGTH
// LENGTH: hlo-opt: error: topology '{{.*}}' has the host of 2 partitions and the process of 1
// RUN: not hlo-opt %s --topology='{"host": [0,1], "process": [0,0]}' 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: hlo-opt: error: topology '{{.*}}' has process 0 on two hosts
// RUN: not hlo-opt %s --topology='{"hosts": [0,1]}' 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: hlo-opt: error: topology '{"hosts": [0,1]}' has 'hosts', and can have 'host' and 'process'
// RUN: not hlo-opt %s --topology='{"host": 4}' 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: hlo-opt: error: the host of topology '{"host": 4}' is no list of numbers from 0 up, one a partition
// RUN: not hlo-opt %s --topology='{}' 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: hlo-opt: error: topology '{}' says neither the host nor the process of each partition

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main() {
    return
  }
}
