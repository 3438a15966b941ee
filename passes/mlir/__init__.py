"""Holds what MLIR's Python bindings lack; nothing here knows a collective."""
