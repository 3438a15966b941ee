// Two permutes around a ring in opposite directions, a matmul beside them: before on one stream, after in flight together.

// RUN: env HLOVERLAP_CACHE=%t hlo-audit %s --pass-pipeline='builtin.module(overlap)' | FileCheck %s
// CHECK: verdict.mlir: h200, 1x1x4, jaxlib {{.*}}, XLA's default options
// CHECK: op {{ *}}source {{ *}}collective {{ *}}bytes {{ *}}what XLA runs {{ *}}times {{ *}}in flight with {{ *}}hidden by
// CHECK-NEXT: #0 {{ *}}verdict.mlir:{{[0-9]+}}  collective_permute {{ *}}32.0 MiB {{.*}} 1 {{ *}}-
// CHECK-NEXT: #1 {{ *}}verdict.mlir:{{[0-9]+}}  collective_permute {{ *}}32.0 MiB {{.*}} 1 {{ *}}-
// CHECK: warning: HLA002: {{.*}}: synchronous: the overlap limit lets one collective be in flight, and the compute beside it ({{[a-z_.0-9-]+}}) hides others
// CHECK: warning: HLA004: {{.*}}: independent of #{{[01]}}, yet XLA runs them one after the other
// CHECK: hint: HLA101: {{.*}} (--xla_gpu_experimental_parallel_collective_overlap_limit=2)
// CHECK: verdict.mlir after builtin.module(overlap): h200, 1x1x4, {{.*}}--xla_gpu_experimental_parallel_collective_overlap_limit=2
// CHECK: #0 {{.*}} async stream [[S1]] {{ *}}1 {{ *}}#1 {{ *}}137.4 GFLOP
// CHECK: #1 {{.*}} async stream [[S2]] {{ *}}1 {{ *}}#0 {{ *}}137.4 GFLOP
// CHECK: independent pairs run in turn {{ *}}1 {{ *}}0
// CHECK: pairs in flight together {{ *}}0 {{ *}}1
// CHECK: predicted time
// CHECK: verdict: better: {{.*}} us instead of {{.*}} us: collective-permute of line {{[0-9]+}} is exposed for

// A second module is compiled with the options that hlo-opt names for its annotations. Through NCCL, which takes
// multiprocessors from the matmul, two streams gain too little to be sure of.

// RUN: hlo-opt %s --overlap --remarks=none -o %t.mlir
// RUN: env HLOVERLAP_CACHE=%t hlo-audit %s %t.mlir --fail-on='serialized>0' | FileCheck %s --check-prefix=AFTER
// AFTER: verdict: same

module @rings attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>)
      -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
    %0 = "stablehlo.collective_permute"(%a) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>
    }> : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %1 = "stablehlo.collective_permute"(%b) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>
    }> : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0]
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    return %0, %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  }
}
