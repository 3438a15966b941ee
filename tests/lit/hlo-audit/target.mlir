// The passes of --pass-pipeline are told the target that is compiled for: on an H200 permutes of 2 MiB are too small for a
// stream of their own. A machine on which it is otherwise is a file.

// RUN: env HLOVERLAP_CACHE=%t hlo-audit %s --pass-pipeline=overlap --target=h200 | FileCheck %s
// CHECK: verdict: same
// RUN: printf 'name = "ours"\nbase = "h100"\n[costs]\nstream_bytes = 0\n' > %t.toml
// RUN: env HLOVERLAP_CACHE=%t hlo-audit %s --pass-pipeline=overlap --target=%t.toml | FileCheck %s --check-prefix=OURS
// OURS: target.mlir after overlap: ours, 1x1x4
// OURS: pairs in flight together {{ *}}0 {{ *}}1

// What nobody can compile for is no target of an audit.
// RUN: printf '[compiler]\nbackend = "gpu"\n' > %t.toml
// RUN: not hlo-audit %s --target=%t.toml 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: hlo-audit: error: target '{{.*}}' says nothing of a compiler: give it a base, such as h200, or a [compiler] with

module @rings attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<1024x1024xbf16>, %b: tensor<1024x1024xbf16>, %w: tensor<1024x1024xbf16>)
      -> (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) {
    %0 = "stablehlo.collective_permute"(%a) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>
    }> : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %1 = "stablehlo.collective_permute"(%b) <{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<[[0, 3], [1, 0], [2, 1], [3, 2]]> : tensor<4x2xi64>
    }> : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %2 = stablehlo.dot_general %w, %w, contracting_dims = [1] x [0]
      : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    return %0, %1, %2 : tensor<1024x1024xbf16>, tensor<1024x1024xbf16>, tensor<1024x1024xbf16>
  }
}
