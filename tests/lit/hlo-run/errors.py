# A mistake is one line, and the program does not run.

# RUN: not hlo-run --pass-pipeline='overlap,cesse' %s 2>&1 | FileCheck %s --check-prefix=PASS
# RUN: not hlo-run --topology=2y2 %s 2>&1 | FileCheck %s --check-prefix=TOPOLOGY
# RUN: not hlo-run -m no.such.module 2>&1 | FileCheck %s --check-prefix=MODULE
# RUN: not hlo-run %s 2>&1 | FileCheck %s --check-prefix=RAISED

raise SystemExit("it ran")

# PASS-NOT: it ran
# PASS: hlo-run: error: unknown pass 'cesse'
# PASS-NEXT: overlap,cesse
# PASS-NEXT: ^

# TOPOLOGY-NOT: it ran
# TOPOLOGY: hlo-run: error: topology '2y2' is none of HOSTSxDEVICES, such as 2x4; HOSTSxPROCESSESxDEVICES

# MODULE: hlo-run: error: Error while finding module specification for 'no.such.module' (ModuleNotFoundError: No module named 'no')

# RAISED: it ran
# RAISED: hlo-run: the program did not import jax
