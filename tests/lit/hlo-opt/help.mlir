// RUN: hlo-opt --help | FileCheck %s
// RUN: hlo-opt -h | FileCheck %s
// CHECK: usage: hlo-opt [IN] [-o OUT]
// CHECK: --pass-pipeline=TEXT
// CHECK: exit status (docs/exit-status.md):
// CHECK:   3    --check found a difference

// RUN: hlo-opt --version | FileCheck %s --check-prefix=VERSION
// VERSION:      hloverlap {{[0-9.]+}}
// VERSION-NEXT: jaxlib {{[0-9.]+}}
// VERSION-NEXT: python {{[0-9.]+}}
