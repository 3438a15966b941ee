"""Holds the parts of hlo-calibrate."""
