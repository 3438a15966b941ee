"""hloverlap: find the collectives that XLA runs one after the other, and let them run together."""
