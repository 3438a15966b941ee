// A dump that XLA took after partitioning holds copies, which are their operands. XLA's importer would also make a
// function of the loop's body: nothing calls it, and each permute is told of once.
// RUN: hlo-opt %S/Inputs/partitioned.hlo.txt --assign-collective-streams 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARKS < %t.err
// CHECK: func.func @main(%arg0: tensor<4xf32>)
// CHECK: stablehlo.while({{.*}} = %arg0)
// CHECK-COUNT-2: stablehlo.collective_permute
// CHECK-NOT: stablehlo.collective_permute
// CHECK-NOT: func.func
// REMARKS-COUNT-2: ACS001
// REMARKS-NOT: ACS001
