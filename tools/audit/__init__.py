"""Holds the parts of hlo-audit."""
