// RUN: not hlo-opt %s --verify-collectives --remarks=sarif 2>%t.log
// RUN: FileCheck %s < %t.log
// RUN: head -n -1 %t.log > %t.json
// RUN: python -m json.tool %t.json /dev/null

// One log, also when the command fails; its last line on stderr is the error.
// CHECK: "version": "2.1.0"
// CHECK: "name": "hlo-opt"
// CHECK: "id": "VCL001"
// CHECK: "id": "VCL008"
// CHECK: "ruleId": "VCL001"
// CHECK-NEXT: "level": "error"
// CHECK: "text": "The stream annotation 'fast' is no decimal number of 32 bits: XLA aborts the process. Give a number from [[S1]] up."
// CHECK: "uri": "a%20model.py"
// CHECK: "startLine": 43
// CHECK: "ruleId": "VCL008"
// CHECK-NEXT: "level": "warning"
// CHECK: hlo-opt: error: a model.py:43: error: VCL001

module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]> : tensor<4x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}>
      {mhlo.frontend_attributes = {_xla_stream_annotation = "fast"}} : (tensor<8xf32>) -> tensor<8xf32> loc("a model.py":43:1)
    return %0 : tensor<8xf32>
  }
}
