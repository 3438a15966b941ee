"""The benchmark between processes: transfers apart and merged."""
