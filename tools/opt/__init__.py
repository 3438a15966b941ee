"""Holds the parts of hlo-opt."""
