"""Holds the checks that verify-collectives makes, one kind a file."""
