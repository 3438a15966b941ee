// --list-passes shows each pass with its options (type, meaning, default), statistics, remarks and an example, then the
// named pipelines and what MLIR brings.
// RUN: hlo-opt --list-passes | FileCheck %s
// CHECK:      canonicalize-permutes
// CHECK:      merge-cross-host-transfers
// CHECK:      assign-collective-streams
// CHECK:        options:
// CHECK:          max-streams=<int>
// CHECK:        statistics:
// CHECK:        remarks:
// CHECK-NEXT:     ACS001  put it on a stream of its own
// CHECK:        example:
// CHECK:      strip-stream-annotations
// CHECK:      named pipelines
// CHECK-NEXT:   overlap  canonicalize-permutes,merge-cross-host-transfers,assign-collective-streams
// CHECK:      passes of MLIR
// CHECK:        canonicalize
