// RUN: not hlo-opt %s --overlap --topology=2x4 -o /dev/null 2>&1 | FileCheck %s

// CHECK: hlo-opt: error: the topology gives the hosts of 8 devices, but the module runs on one device, so nothing in it goes between hosts: leave the topology out, or lower the program for 8 devices

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
