"""Holds the benchmark between processes: transfers apart and merged."""
