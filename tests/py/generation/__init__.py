"""Random valid modules for property tests, and the processes in which they are examined."""
