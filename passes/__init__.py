"""Holds the passes: one file per pass, one pass per file."""
