"""Holds the parts of hlo-run."""
