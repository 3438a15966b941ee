"""Says what the result of a rewrite runs on: its devices, what they cost, and what its XLA can do."""
