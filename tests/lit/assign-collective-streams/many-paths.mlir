// RUN: hlo-opt %s --assign-collective-streams 2>&1 >/dev/null | FileCheck %s

// Twelve functions that each call the next one twice: there are 4096 paths to the permutes. A function whose every call
// cannot be looked at is left as it is.
// CHECK: remark: ACS007: Left as it is: too many paths lead to function 'f12'; run MLIR's 'inline' first.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f0(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func private @f0(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f1(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f1(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f1(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f2(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f2(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f2(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f3(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f3(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f3(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f4(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f4(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f4(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f5(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f5(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f5(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f6(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f6(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f6(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f7(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f7(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f7(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f8(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f8(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f8(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f9(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f9(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f9(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f10(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f10(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f10(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f11(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f11(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f11(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = call @f12(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @f12(%0) : (tensor<8xf32>) -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @f12(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
