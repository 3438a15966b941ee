"""Holds the private names of jax and jaxlib, and what differs between their versions, a file for each subject.

Nothing else in the package uses a private name of theirs, but `passes/mlir/dialects.py`, which needs MLIR alone.
tests/py/pipeline/test_private_names.py lists all of them, finds the uses in the sources, and says which one a new
version has moved. Nothing here imports jax at module level: that takes half a second, which hlo-opt does not pay.
"""
